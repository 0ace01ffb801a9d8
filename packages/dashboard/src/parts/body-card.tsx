// A payload or a result: fetched when asked for, 64 KB at first, and shown by its media type.
// Nothing in it ever runs.

import { useEffect, useRef, useState } from "preact/hooks";
import type { Task } from "../live/api-shapes.js";
import { faultWords, request } from "../live/session.js";
import { toast } from "../live/toasts.js";
import {
  type BodyForm,
  bodyForms,
  formName,
  hexRows,
  mediaType,
  type ReadBody,
  textOf,
  treeOf,
} from "../model/body-forms.js";
import { bytes } from "../model/numbers.js";
import { shownBlock, shownLine } from "../model/shown-text.js";
import { LoadFault, Segments } from "./controls.js";
import { JsonTree } from "./json-tree.js";

const firstBytes = 65_536;
/** Images are only drawn whole. */
const imageBytesMax = 20_000_000;

export function BodyCard({ task, part }: { task: Task; part: "payload" | "result" }) {
  const size = (part === "payload" ? task.payloadBytes : task.resultBytes) ?? 0;
  const [body, setBody] = useState<ReadBody | undefined>();
  const [fault, setFault] = useState<unknown>();
  const [form, choose] = useState<BodyForm | undefined>();
  const loads = useRef(0);
  const load = async (max: number) => {
    loads.current += 1;
    const number = loads.current;
    setFault(undefined);
    try {
      const read = await readBody(`v1/tasks/${task.id}/${part}`, size, max);
      if (number === loads.current) setBody(read);
    } catch (raised) {
      if (number === loads.current) setFault(raised);
    }
  };
  const isImage = /^image\/(png|jpeg|gif|webp|avif)$/.test(
    part === "payload" ? mediaType(task.contentType) : "",
  );
  useEffect(() => {
    if (size <= firstBytes || (part === "result" && size < imageBytesMax / 20)) void load(size);
  }, [task.id, part, size]);
  const forms = body ? bodyForms(body) : [];
  const shown = form !== undefined && forms.includes(form) ? form : forms[0];
  return (
    <section class="card" aria-label={part}>
      <div class="card-head">
        <h2>{part === "payload" ? "Payload" : "Result"}</h2>
        <span class="faint">
          {bytes(size)} {shownLine(body?.contentType ?? (part === "payload" ? task.contentType : ""))}
        </span>
        <span class="right">
          {body && forms.length > 1 && shown && (
            <Segments
              label={`Show the ${part} as`}
              value={shown}
              choices={forms.map((value) => ({ value, label: formName(value, body.contentType) }))}
              onChoose={choose}
            />
          )}
        </span>
      </div>
      {fault !== undefined && <LoadFault words={faultWords(fault)} onRetry={() => void load(firstBytes)} />}
      {!body && fault === undefined && (
        <div class="row body-ask">
          {isImage && size < imageBytesMax ? (
            <button type="button" class="button" onClick={() => void load(size)}>
              Show the image
            </button>
          ) : (
            <button type="button" class="button" onClick={() => void load(firstBytes)}>
              Show the first 64 KB
            </button>
          )}
          <Download task={task} part={part} />
        </div>
      )}
      {body && shown && <BodyContent body={body} form={shown} />}
      {body && !body.isWhole && (
        <div class="row body-ask">
          <span class="faint">
            The first {bytes(body.bytes.length)} of {bytes(size)}.
          </span>
          <Download task={task} part={part} />
        </div>
      )}
    </section>
  );
}

function BodyContent({ body, form }: { body: ReadBody; form: BodyForm }) {
  if (body.bytes.length === 0) return <p class="empty">It is empty.</p>;
  if (form === "image") return <BodyImage body={body} />;
  if (form === "tree") return <JsonTree value={treeOf(body)?.value} />;
  if (form === "text") return <pre class="body-text mono">{shownBlock(textOf(body) ?? "")}</pre>;
  return (
    <pre class="body-text mono">
      {hexRows(body.bytes)
        .map(({ at, hex, text }) => `${at}  ${hex.padEnd(47)}  ${text}`)
        .join("\n")}
    </pre>
  );
}

/** From a blob, with its own media type: an image is drawn, never a document. */
function BodyImage({ body }: { body: ReadBody }) {
  const [url, setUrl] = useState("");
  const [size, setSize] = useState("");
  useEffect(() => {
    const made = URL.createObjectURL(
      new Blob([body.bytes as Uint8Array<ArrayBuffer>], { type: mediaType(body.contentType) }),
    );
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [body]);
  if (url === "") return null;
  return (
    <figure class="body-image">
      <img
        src={url}
        alt="The bytes as a picture"
        onLoad={(event) =>
          setSize(`${event.currentTarget.naturalWidth} × ${event.currentTarget.naturalHeight}`)
        }
      />
      <figcaption class="aside">{size}</figcaption>
    </figure>
  );
}

function Download({ task, part }: { task: Task; part: string }) {
  const save = async () => {
    const bytes = await request(`v1/tasks/${task.id}/${part}`)
      .then((response) => response.arrayBuffer())
      .catch((fault) =>
        toast(`The ${part} could not be loaded: ${shownLine(faultWords(fault))}.`, { isError: true }),
      );
    if (!bytes) return;
    const url = URL.createObjectURL(new Blob([bytes], { type: "application/octet-stream" }));
    const link = document.createElement("a");
    link.href = url;
    link.download = `task-${task.id}-${part}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
  };
  return (
    <button type="button" class="button" onClick={() => void save()}>
      Download
    </button>
  );
}

/** Reads at most `max` bytes, and cancels the rest. */
async function readBody(path: string, size: number, max: number): Promise<ReadBody> {
  const response = await request(path);
  const contentType = response.headers.get("content-type") ?? "";
  const reader = response.body?.getReader();
  const parts: Uint8Array[] = [];
  let held = 0;
  while (reader && held < max) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    held += value.length;
  }
  await reader?.cancel();
  const all = new Uint8Array(Math.min(held, Math.max(max, 0)));
  let at = 0;
  for (const part of parts) {
    all.set(part.subarray(0, all.length - at), at);
    at += Math.min(part.length, all.length - at);
  }
  return {
    bytes: all,
    contentType,
    isWhole: held <= max && all.length >= Math.min(size, held) && held >= size,
  };
}
