/** Brings the catalogs of an account in line when one of its zones comes, goes, or begins or ceases to be served. */
import { isAnswered } from '../../serving/zone-state.js';
import type { Context } from '../kernel/context.js';
import type { Participant } from '../kernel/participant.js';
import { planCatalogs } from '../schedule/catalogs.js';

export const catalogs: Participant<Context> = {
  after(ctx, { touched: { kind, before }, row }) {
    if (kind === 'zone-added' || isAnswered(before) !== isAnswered(row)) planCatalogs(ctx, row.account);
  },
  removed: (ctx, { account }) => planCatalogs(ctx, account),
};
