/** Makes browsers keep responses longer than the origin says, where the zone asks for it. */
import { printHttpDate } from '../../http/date.js';
import { fieldValue, listMembers } from '../../http/fields.js';
import { readCacheControl } from './directives.js';
import { explicitLifetime } from './freshness.js';
import type { StoredFields, StoredHead } from './stored-response.js';

const MAX_AGE = /^max-age\b/i;

/** The stored fields with a `Cache-Control` of at least `ttlS` seconds. 0 leaves them unchanged. */
export function withBrowserTtl(stored: StoredHead, ttlS: number): StoredFields {
  const { fields, receivedAtMs } = stored;
  if (ttlS === 0) return fields;
  const value = fieldValue(fields, 'cache-control');
  const said = readCacheControl(value);
  if (said.noStore || said.noCache || said.private) return fields;
  const browsers = { ...said, sharedMaxAgeS: undefined };
  const lifetimeS = explicitLifetime(fields, browsers, { receivedAtMs }) ?? 0;
  if (lifetimeS >= ttlS) return fields;
  const others = listMembers(value ?? '').filter((member) => !MAX_AGE.test(member));
  const changed: Record<string, string | readonly string[]> = {
    ...fields,
    'cache-control': [...others, `max-age=${ttlS}`].join(', '),
  };
  if (fields['expires'] !== undefined) changed['expires'] = printHttpDate((receivedAtMs + ttlS * 1000) * 1000);
  return changed;
}
