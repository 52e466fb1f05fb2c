/** The data of a record in a zone file. */
import { equalBytes } from '../../base/bytes.js';
import { ROOT } from '../name.js';
import { PresentationError, type Token, TokenCursor } from '../presentation.js';
import type { RRType } from '../rr/type.js';

/** Parses the data of a record: the tokens from `at` on. */
export function parseData(type: RRType, tokens: readonly Token[], at: number, origin: Uint8Array): Uint8Array {
  const cursor = new TokenCursor(tokens, at);
  const rdata = type.parse(cursor, origin);
  cursor.end();
  return rdata;
}

/** Parses data without an origin; relative names are then errors. */
export function parseWithoutOrigin(type: RRType, tokens: readonly Token[], at: number): Uint8Array {
  const rdata = parseData(type, tokens, at, ROOT);
  if (!equalBytes(rdata, parseData(type, tokens, at, ANY_ORIGIN)))
    throw failure('relative domain name without an origin', tokens[at]!);
  return rdata;
}

const ANY_ORIGIN = Uint8Array.of(1, 120, 0);

export function failure(message: string, { line, column, text }: Token): PresentationError {
  return new PresentationError(message, line, column, text);
}
