/** Builds requests that validate a stored response (RFC 9111 §4.3.1), and requests without the client's conditions. */
import { fieldValue, type HeaderFields } from '../../http/fields.js';
import type { StoredResponse } from './stored-response.js';

const CONDITIONS = ['if-none-match', 'if-modified-since', 'if-range', 'range'] as const;

/** The request without fields that make the response depend on what the client has stored. */
export function wholeRequest(fields: HeaderFields): HeaderFields {
  if (CONDITIONS.every((name) => fields[name] === undefined)) return fields;
  const whole = { ...fields };
  for (const name of CONDITIONS) delete whole[name];
  return whole;
}

/** The request with the validators of a stored response instead of the client's. */
export function validatingRequest(fields: HeaderFields, stored: StoredResponse): HeaderFields {
  const etag = fieldValue(stored.fields, 'etag');
  const modified = fieldValue(stored.fields, 'last-modified');
  return {
    ...wholeRequest(fields),
    ...(etag === undefined ? {} : { 'if-none-match': etag }),
    ...(modified === undefined ? {} : { 'if-modified-since': modified }),
  };
}

/** Whether a range covers everything. Video players send it to learn whether the server supports ranges. */
export function isWholeRange(fields: HeaderFields): boolean {
  return fieldValue(fields, 'range')?.trim().toLowerCase() === 'bytes=0-';
}
