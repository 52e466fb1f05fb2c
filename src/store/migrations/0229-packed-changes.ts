/** Moves the records of a change into one value of its row (store/log/changes.ts); before, each record had a row. */
import type { Steps } from './migration.js';

export default {
  sql: `
-- For each record: op, type, TTL, length of the owner key (FF, and then the length, if it is as long or longer), owner key, length of the
-- rdata, rdata. Removed ones come first.
ALTER TABLE changes ADD COLUMN rrs BLOB;
-- One value cannot have very much.
UPDATE changes SET complete = 0
  WHERE complete = 1 AND (SELECT sum(length(owner_key) + length(rdata)) FROM change_rrs WHERE change = changes.seq) > 16777216;
UPDATE changes SET rrs = (SELECT unhex(group_concat(printf('%02X%04X%08X', op, type, ttl)
    || iif(length(owner_key) < 255, printf('%02X', length(owner_key)), printf('FF%04X', length(owner_key))) || hex(owner_key)
    || printf('%04X', length(rdata)) || hex(rdata), '' ORDER BY ord)) FROM change_rrs WHERE change = changes.seq)
  WHERE complete = 1;
DROP TABLE change_rrs;
`,
} satisfies Steps;
