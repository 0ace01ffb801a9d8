// The thread of a folder: decoding batches takes time that the event loop does not have.

import { parentPort, workerData } from "node:worker_threads";
import { Folder, type FolderOptions } from "./folder.js";
import { type PackedBatches, unpack } from "./packed-batches.js";

const folder = new Folder(workerData as FolderOptions);

type Order = "close" | { readonly through: number; readonly packed: PackedBatches };

parentPort?.on("message", async (order: Order) => {
  if (order === "close") {
    await folder.close();
    parentPort?.close();
    return;
  }
  try {
    const { position } = await folder.fold(order.through, unpack(order.packed));
    parentPort?.postMessage({ position });
  } catch (error) {
    const { name, message } = error as Error;
    parentPort?.postMessage({ name, message });
  }
});
