// The permissions of a store's folder and files: for its owner only.

export const privateFolderMode = 0o700;
export const privateFileMode = 0o600;
