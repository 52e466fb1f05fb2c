/**
 * A record that was made here hides the one of the primary, which is served again after it was transferred anew: has that done when
 * such a record was changed or removed.
 */
import type { Context } from '../kernel/context.js';
import type { Participant } from '../kernel/participant.js';
import { isOverride } from '../rules/of-primary.js';
import { transferAnew } from '../schedule/refresh.js';

export const refetching: Participant<Context> = {
  after(ctx, { touched: { before, edited } }) {
    if (ctx.source === 'transfer' || before.type !== 'secondary') return;
    if (edited.some(({ was }) => was && isOverride(was))) transferAnew(ctx, before.seq);
  },
};
