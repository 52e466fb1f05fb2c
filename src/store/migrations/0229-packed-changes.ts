/** The records of a change in one value of its row (store/log/changes.ts), before a row for each. */
import type { Migration } from './migration.js';

export const packedChanges: Migration = {
  version: 229,
  name: 'packed-changes',
  sql: `
-- For each record: op, type, TTL, length of the owner key, owner key, length of the rdata, rdata. Removed ones come first.
ALTER TABLE changes ADD COLUMN rrs BLOB;
UPDATE changes SET rrs = (SELECT unhex(group_concat(printf('%02X%04X%08X%02X', op, type, ttl, length(owner_key)) || hex(owner_key)
    || printf('%04X', length(rdata)) || hex(rdata), '' ORDER BY ord)) FROM change_rrs WHERE change = changes.seq);
DROP TABLE change_rrs;
`,
};
