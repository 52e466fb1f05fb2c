/** `/zones/{zone_id}/rulesets/{ruleset_id}/rules` (v4: rulesets): single rules. Each answer is the whole ruleset. */
import { addRule, editRule, removeRule } from '../../control/rulesets/rules.js';
import { routes } from '../routing/route.js';
import { answersOne } from '../schema.js';
import { answerRuleset } from './routes.js';
import { ruleBody, ruleParams, ruleset, rulesetParams } from './schema.js';

const config = { objectState: 'write', oneCommit: true } as const;
const RULES = '/zones/:zone_id/rulesets/:ruleset_id/rules';

export const rulesetRuleRoutes = routes({ tags: ['Rulesets'], area: 'any' }, (app) => {
  app.post(
    RULES,
    { ...config, summary: 'Add a rule', params: rulesetParams, body: ruleBody, response: answersOne(ruleset) },
    async (ctx, { params: { zone_id: zone, ruleset_id: id }, body }, reply) =>
      answerRuleset(reply, await addRule(ctx, zone, id, body)),
  );
  app.patch(
    `${RULES}/:rule_id`,
    { ...config, summary: 'Edit or move a rule', params: ruleParams, body: ruleBody, response: answersOne(ruleset) },
    async (ctx, { params: { zone_id: zone, ruleset_id: id, rule_id: rule }, body }, reply) =>
      answerRuleset(reply, await editRule(ctx, zone, id, rule, body)),
  );
  app.delete(
    `${RULES}/:rule_id`,
    { ...config, summary: 'Delete a rule', params: ruleParams, response: answersOne(ruleset) },
    async (ctx, { params: { zone_id: zone, ruleset_id: id, rule_id: rule } }, reply) => {
      const item = await removeRule(ctx, zone, id, rule);
      // DNSControl takes an answer for a success only if it has `"success": true,` with this space, as the vendor prints it.
      reply.type('application/json; charset=utf-8');
      reply.serializer((payload) => JSON.stringify(payload, undefined, 2));
      return answerRuleset(reply, item);
    },
  );
});
