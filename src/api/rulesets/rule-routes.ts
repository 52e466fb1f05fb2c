/** `/zones/{zone_id}/rulesets/{ruleset_id}/rules` (v4: rulesets): single rules. Each answer is the whole ruleset. */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { addRule, editRule, removeRule } from '../../control/rulesets/rules.js';
import type { ContextOf } from '../request.js';
import { answersOne } from '../schema.js';
import { answerRuleset } from './routes.js';
import { ruleBody, ruleParams, ruleset, rulesetParams } from './schema.js';

const tags = ['Rulesets'];
const config = { area: 'any', objectState: 'write', oneCommit: true } as const;
const response = answersOne(ruleset);
const RULES = '/zones/:zone_id/rulesets/:ruleset_id/rules';

export const rulesetRuleRoutes: FastifyPluginAsyncZod<{ contextOf: ContextOf }> = async (app, { contextOf }) => {
  app.post(
    RULES,
    { config, schema: { tags, summary: 'Add a rule', params: rulesetParams, body: ruleBody, response } },
    async (request, reply) => {
      const { zone_id: zone, ruleset_id: id } = request.params;
      return answerRuleset(reply, await addRule(contextOf(request), zone, id, request.body));
    },
  );
  app.patch(
    `${RULES}/:rule_id`,
    { config, schema: { tags, summary: 'Edit or move a rule', params: ruleParams, body: ruleBody, response } },
    async (request, reply) => {
      const { zone_id: zone, ruleset_id: id, rule_id: rule } = request.params;
      return answerRuleset(reply, await editRule(contextOf(request), zone, id, rule, request.body));
    },
  );
  app.delete(
    `${RULES}/:rule_id`,
    { config, schema: { tags, summary: 'Delete a rule', params: ruleParams, response } },
    async (request, reply) => {
      const { zone_id: zone, ruleset_id: id, rule_id: rule } = request.params;
      const item = await removeRule(contextOf(request), zone, id, rule);
      // DNSControl takes an answer for a success only if it has `"success": true,` with this space, as the vendor prints it.
      reply.type('application/json; charset=utf-8');
      reply.serializer((payload) => JSON.stringify(payload, undefined, 2));
      return answerRuleset(reply, item);
    },
  );
};
