/** No write leaves an account with more records than it may have, however it made them. */
import type { Context } from '../kernel/context.js';
import type { Participant } from '../kernel/participant.js';
import { requireRecordsWithin } from '../rules/quotas.js';

/** What a primary sends is counted while it is transferred: the last version stays served. */
export const quotas: Participant<Context> = {
  after({ store, source }, { touched, row }) {
    const grew = row.record_count + touched.records > touched.before.record_count;
    if (grew && source !== 'transfer') requireRecordsWithin({ store }, row.account);
  },
};
