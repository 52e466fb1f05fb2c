/** `/zones/{zone_id}/load_balancers/{load_balancer_id}/explain` (ours): what a load balancer answers, and why. */
import { balancingFailure } from '../../control/balancing/errors.js';
import { requireBalancer } from '../../control/balancing/load-balancers.js';
import { requireZone } from '../../control/guard/access.js';
import { parseInstant } from '../../control/rules/instant.js';
import { explainBalancer, type Surroundings } from '../../explain/balancer.js';
import { textValue } from '../query.js';
import { queryOf } from '../request.js';
import type { AddRoutes } from '../routing/route.js';
import { balancerExplanation, explainQuery } from './explain-schema.js';
import { balancerParams } from './schema.js';

export interface BalancerExplainOptions {
  readonly surroundings: () => Surroundings;
}

export const balancerExplainRoutes: AddRoutes<BalancerExplainOptions> = (app, { surroundings }) => {
  app.get(
    '/zones/:zone_id/load_balancers/:load_balancer_id/explain',
    {
      area: 'loadBalancers',
      zoneState: 'read',
      tags: ['Load balancing'],
      summary: 'Explain what a load balancer answers',
      params: balancerParams,
      querystring: explainQuery,
      answer: balancerExplanation,
    },
    async (ctx, request) => {
      const { zone_id: zoneId, load_balancer_id: id } = request.params;
      const row = requireBalancer(ctx, requireZone(ctx, zoneId), id);
      const query = queryOf(request);
      const value = (name: string): string | undefined => textValue(query, name) || undefined;
      const question = {
        ...{ type: typeOf(value('type') ?? 'A'), client: value('client'), subnet: value('client_subnet') },
        ...{ country: value('country'), region: value('region'), pop: value('pop'), atUs: momentOf(value('at')) },
      };
      const { clientSubnet, ...found } = explainBalancer(ctx, row, question, surroundings());
      const lists = { steps: [...found.steps], pools: [...found.pools], origins: [...found.origins] };
      return { ...found, ...lists, answer: [...found.answer], client_subnet: clientSubnet };
    },
  );
};

function typeOf(text: string): 'A' | 'AAAA' {
  const type = text.toUpperCase();
  if (type === 'A' || type === 'AAAA') return type;
  throw balancingFailure('invalid', { reason: 'type is not A or AAAA' });
}

function momentOf(text: string | undefined): number | undefined {
  const atUs = text === undefined ? undefined : parseInstant(text);
  if (text !== undefined && atUs === undefined)
    throw balancingFailure('invalid', { reason: 'at is not an RFC 3339 time' });
  return atUs;
}
