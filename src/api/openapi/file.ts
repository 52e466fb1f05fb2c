/** The OpenAPI document as the build has written it: making it takes so long that all other requests would wait. */
import { readFile } from 'node:fs/promises';

export const DOCUMENT_FILE = new URL('document.json', import.meta.url);

let read: Promise<Buffer> | undefined;

/** Its text. It is read when somebody first wants it. */
export function readDocument(): Promise<Buffer> {
  read ??= readFile(DOCUMENT_FILE);
  return read;
}
