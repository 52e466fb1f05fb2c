/** Below what monitors and pools have routes: accounts and, for older clients, the user, whose only account is meant (v4). */
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { requireOnlyAccount } from '../../control/balancing/only-account.js';
import type { Context } from '../../control/kernel/context.js';
import { accountParams } from '../accounts/schema.js';

export interface BalancingScope {
  readonly base: string;
  /** Parameters of the base. */
  readonly params: z.ZodObject;
  /** Identifier of the account that is asked about. */
  readonly accountOf: (ctx: Context, request: FastifyRequest) => string;
}

export const OF_ACCOUNT: BalancingScope = {
  base: '/accounts/:account_id/load_balancers',
  params: accountParams,
  accountOf: (_, { params }) => (params as { readonly account_id: string }).account_id,
};

export const OF_USER: BalancingScope = {
  base: '/user/load_balancers',
  params: z.object({}),
  accountOf: (ctx, { method }) => requireOnlyAccount(ctx, method === 'GET' ? 'read' : 'write'),
};
