/** Header fields and lists in their values (RFC 9110 §5). */

/** Field values by lower-case name; a list has one item for each field line. */
export type HeaderFields = Readonly<Record<string, string | readonly string[] | undefined>>;

/** The lines of a field as one value (RFC 9110 §5.3). */
export function fieldValue(fields: HeaderFields, name: string): string | undefined {
  const value = fields[name];
  return value === undefined || typeof value === 'string' ? value : value.join(', ');
}

/** Members of a comma-separated list without surrounding whitespace; empty ones are omitted (RFC 9110 §5.6.1.2). */
export function listMembers(value: string): string[] {
  if (!value.includes(',')) return value.trim() === '' ? [] : [value.trim()];
  if (!value.includes('"')) return present(value.split(','));
  const members: string[] = [];
  let start = 0;
  let quoted = false;
  for (let at = 0; at < value.length; at++) {
    const octet = value[at];
    if (quoted && octet === '\\') at++;
    else if (octet === '"') quoted = !quoted;
    else if (octet === ',' && !quoted) {
      members.push(value.slice(start, at));
      start = at + 1;
    }
  }
  return present([...members, value.slice(start)]);
}

function present(members: readonly string[]): string[] {
  return members.map((member) => member.trim()).filter((member) => member !== '');
}

/**
 * Fields for one connection only (RFC 9110 §7.6.1), and those for proxies, which no cache may store (RFC 9111 §3.1).
 */
export const CONNECTION_FIELDS: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'proxy-authenticate',
  'proxy-authentication-info',
  'proxy-authorization',
]);

/** The fields that may be stored, without those for one connection or one proxy (RFC 9111 §3.1). */
export function storableFields(fields: HeaderFields): Record<string, string | readonly string[]> {
  const listed = listMembers(fieldValue(fields, 'connection') ?? '').map((name) => name.toLowerCase());
  // An ordinary object, since it is copied often. A field of this name would change what the object is.
  const stored: Record<string, string | readonly string[]> = {};
  for (const name in fields) {
    const value = fields[name];
    if (value !== undefined && isStorableField(name) && !listed.includes(name)) stored[name] = value;
  }
  return stored;
}

/** Whether a field may be stored, unless `Connection` lists it. */
export function isStorableField(name: string): boolean {
  return name !== '__proto__' && !CONNECTION_FIELDS.has(name);
}
