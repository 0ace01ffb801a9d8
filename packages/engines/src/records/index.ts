// Records as bytes: the stored form of the core's records.

export * from "./checksum.js";
export * from "./record-form.js";
export { RecordReader } from "./record-reader.js";
export { RecordWriter } from "./record-writer.js";
export { peekProgress, readHead, readProgress, writeHead, writeProgress } from "./task-records.js";
export * from "./task-sums.js";
export * from "./yard-records.js";
