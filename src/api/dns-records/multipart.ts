/**
 * multipart/form-data (RFC 7578), parsed leniently: parts with or without a filename, CRLF or bare LF between lines, a
 * closing boundary with or without a line end after it (v4: §0.19, §7.3). For small bodies only: the whole body is in
 * memory.
 */
import { bodyFailure } from '../body.js';

const MOST_PARTS = 32;
const MOST_HEADER_OCTETS = 4096;
const LF = 10;
const CR = 13;

/**
 * The parts of a form by name; the first of two with the same name counts. Throws 9207 for an invalid content type or
 * body.
 */
export function parseMultipart(body: Buffer, contentType: string | undefined): Map<string, Buffer> {
  const delimiter = `--${boundaryOf(contentType)}`;
  const parts = new Map<string, Buffer>();
  let at = findDelimiter(body, delimiter, 0);
  if (at < 0) throw bodyFailure('the boundary of the form does not occur in it');
  for (let count = 0; ; count++) {
    if (count > MOST_PARTS) throw bodyFailure(`the form has more than ${MOST_PARTS} parts`);
    const start = at + delimiter.length;
    if (body.toString('latin1', start, start + 2) === '--') return parts;
    const next = findDelimiter(body, delimiter, start);
    if (next < 0) throw bodyFailure('the form ends before its closing boundary');
    const part = readPart(body.subarray(afterLine(body, start), lineEndBefore(body, next)));
    if (part && !parts.has(part.name)) parts.set(part.name, part.content);
    at = next;
  }
}

function boundaryOf(contentType: string | undefined): string {
  const match = /^multipart\/form-data\b.*?;\s*boundary=(?:"([^"]{1,200})"|([^\s;"]{1,200}))/i.exec(contentType ?? '');
  const boundary = match?.[1] ?? match?.[2];
  if (boundary === undefined) {
    throw bodyFailure('a multipart/form-data body with a part named "file" is expected');
  }
  return boundary;
}

/** Offset of the next delimiter at the beginning of a line; -1 when there is none. */
function findDelimiter(body: Buffer, delimiter: string, from: number): number {
  for (let at = body.indexOf(delimiter, from, 'latin1'); at >= 0; at = body.indexOf(delimiter, at + 1, 'latin1')) {
    if (at === 0 || body[at - 1] === LF) return at;
  }
  return -1;
}

/** Offset after the next line end. */
function afterLine(body: Buffer, at: number): number {
  const end = body.indexOf(LF, at);
  return end < 0 ? body.length : end + 1;
}

/** The line end before a delimiter belongs to the delimiter (RFC 2046 §5.1.1). */
function lineEndBefore(body: Buffer, at: number): number {
  return body[at - 2] === CR ? at - 2 : at - 1;
}

/** A part with a name; parts without a name are ignored. */
function readPart(part: Buffer): { name: string; content: Buffer } | undefined {
  let header = '';
  let at = 0;
  for (;;) {
    const end = lineEnd(part, at);
    const line = part.toString('latin1', at, end).replace(/\r$/, '');
    at = Math.min(end + 1, part.length);
    if (line === '') break;
    header += `${line}\n`;
    if (header.length > MOST_HEADER_OCTETS) throw bodyFailure('a header of the form is too long');
    if (at >= part.length) break;
  }
  const disposition = /^content-disposition:[^\n]*?[;\s]name=(?:"([^"\n]*)"|([^\s;"]+))/im.exec(header);
  const name = disposition?.[1] ?? disposition?.[2];
  return name === undefined ? undefined : { name, content: part.subarray(at) };
}

function lineEnd(part: Buffer, at: number): number {
  const end = part.indexOf(LF, at);
  return end < 0 ? part.length : end;
}
