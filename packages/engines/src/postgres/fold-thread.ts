// The thread of a folder: decoding batches takes time that the event loop does not have.

import { parentPort, workerData } from "node:worker_threads";
import { Folder, type FolderOptions } from "./folder.js";

const folder = new Folder(workerData as FolderOptions);

parentPort?.on("message", async (through: number | "close") => {
  if (through === "close") {
    await folder.close();
    parentPort?.close();
    return;
  }
  try {
    const { position } = await folder.fold(through);
    parentPort?.postMessage({ position });
  } catch (error) {
    const { name, message } = error as Error;
    parentPort?.postMessage({ name, message });
  }
});
