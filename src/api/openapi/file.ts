/** The OpenAPI document that the build has written: generating it takes so long that all other requests would wait. */
import { readFile } from 'node:fs/promises';

export const DOCUMENT_FILE = new URL('document.json', import.meta.url);

let read: Promise<Buffer> | undefined;

/** Its text. It is read at the first request, and again if reading failed. */
export async function readDocument(): Promise<Buffer> {
  try {
    read ??= readFile(DOCUMENT_FILE);
    return await read;
  } catch (error) {
    read = undefined;
    throw error;
  }
}
