/** No write leaves an account with more records than it may have, however it made them, nor lets them take the reserve of the disk. */

import type { Context } from '../kernel/context.js';
import { OCTETS_OF_RECORD, reservedFailure } from '../kernel/errors.js';
import type { Participant } from '../kernel/participant.js';
import { requireRecordsWithin } from '../rules/quotas.js';

/** So many records more are a small edit. */
const SMALL_EDIT = 100;

/** What a primary sends is counted while it is transferred: the last version stays served. */
export const quotas: Participant<Context> = {
  after({ store, source, disk }, { touched, row }) {
    const more = row.record_count + touched.records - touched.before.record_count;
    if (more <= 0 || source === 'transfer') return;
    requireRecordsWithin({ store }, row.account);
    if (more > SMALL_EDIT && disk?.take(more * OCTETS_OF_RECORD) === false) throw reservedFailure();
  },
};
