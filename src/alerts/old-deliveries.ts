/** Removes old deliveries once a day, also those of webhooks that get nothing any more. */
import { inWrites } from '../base/slices.js';
import type { JobKind } from '../jobs/kind.js';
import { pruneDeliveries } from '../store/alerts/deliveries.js';
import { allDestinations } from '../store/alerts/destinations.js';

/** One job, without a subject. */
export const OLD_DELIVERIES_JOB = 'old_deliveries';

const DAY_MS = 86_400_000;

export const oldDeliveriesJob: JobKind = {
  async handler({ store, clock, requireLease }) {
    const destinations = allDestinations(store).map(({ seq }) => seq);
    await inWrites(
      { store, clock },
      0,
      (at) => at < destinations.length,
      (at) => {
        requireLease();
        pruneDeliveries(store, destinations[at]!, clock.nowUs());
        return at + 1;
      },
    );
    return { againAtMs: clock.nowMs() + DAY_MS };
  },
};
