/** `CDN-Loop` (RFC 8586): the edges through which a request has come. Pure. */

/** Whether the field, with all its lines, names an edge. */
export function loopNames(field: string, name: string): boolean {
  return field.split(',').some((entry) => entry.split(';')[0]!.trim() === name);
}
