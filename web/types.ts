/** The shapes of the API's answers, from the schemas of its routes: a change there that screens do not follow breaks the build. */
export type { DnsRecord } from '../src/api/dns-records/schema.js';
export type { Explanation } from '../src/api/explain/schema.js';
export type { RecordType } from '../src/api/record-types/schema.js';
export type { Diff } from '../src/api/schema.js';
export type { Permissions, Session } from '../src/api/sessions/schema.js';
export type { ZoneChange } from '../src/api/zone-changes/schema.js';
export type { ZoneFileResult } from '../src/api/zone-files/schema.js';
export type { ZoneEdit, ZoneRestore } from '../src/api/zone-history/schema.js';
export type { Zone } from '../src/api/zones/schema.js';
