/** The OpenAPI document as the build has written it: making it takes so long that all other requests would wait. */
import { readFile } from 'node:fs/promises';

export const DOCUMENT_FILE = new URL('document.json', import.meta.url);

let read: Promise<Buffer> | undefined;

/** Its text. It is read when somebody first wants it, and again after that failed. */
export async function readDocument(): Promise<Buffer> {
  try {
    read ??= readFile(DOCUMENT_FILE);
    return await read;
  } catch (error) {
    read = undefined;
    throw error;
  }
}
