// The rights of a store's folder and files: its owner's, and nobody else's.

export const privateFolderMode = 0o700;
export const privateFileMode = 0o600;
