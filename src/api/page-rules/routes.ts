/** `/zones/{zone_id}/pagerules` (v4: page rules). */
import {
  createPageRule,
  deletePageRule,
  editPageRule,
  getPageRule,
  listPageRules,
  replacePageRule,
} from '../../control/rulesets/page-rules.js';
import type { StoredPageRule } from '../../rulesets/page-rule.js';
import { success } from '../envelope.js';
import { choiceValue } from '../query.js';
import { queryOf } from '../request.js';
import { routes } from '../routing/route.js';
import { onlyId } from '../schema.js';
import { printTime } from '../times.js';
import { zoneParams } from '../zones/schema.js';
import { listQuery, type PageRuleShape, pageRule, pageRuleBody, pageRuleParams } from './schema.js';

/** Who sees the zone may learn that it has none; the use cases examine the rest. */
const read = { area: 'zone', objectState: 'read' } as const;
const write = { area: 'pageRules', objectState: 'write', oneCommit: true } as const;
const BASE = '/zones/:zone_id/pagerules';
const ONE = `${BASE}/:pagerule_id`;

function pageRuleView({ created_on: created, modified_on: modified, ...rule }: StoredPageRule): PageRuleShape {
  const { id, priority, status } = rule;
  return {
    ...{ id, targets: [...rule.targets], actions: [...rule.actions], priority, status },
    ...{ created_on: printTime(created), modified_on: printTime(modified) },
  };
}

export const pageRuleRoutes = routes({ tags: ['Page rules'] }, (app) => {
  app.get(
    BASE,
    { ...read, summary: 'List page rules', params: zoneParams, querystring: listQuery, list: pageRule },
    async (ctx, request, reply) => {
      const query = queryOf(request);
      const wanted = choiceValue(query, 'status', ['active', 'disabled']);
      const order = choiceValue(query, 'order', ['priority', 'status']) ?? 'priority';
      const isUp = choiceValue(query, 'direction', ['asc', 'desc']) === 'asc';
      const { rules, tag } = await listPageRules(ctx, request.params.zone_id);
      if (tag !== undefined) reply.header('etag', tag);
      const shown = rules.filter(({ status }) => wanted === undefined || status === wanted);
      const sorted = order === 'status' ? shown.toSorted((a, b) => (a.status < b.status ? 1 : -1)) : shown;
      return success((isUp ? sorted.toReversed() : sorted).map(pageRuleView));
    },
  );
  app.get(
    ONE,
    { ...read, summary: 'Get a page rule', params: pageRuleParams, answer: pageRule },
    async (ctx, { params: { zone_id: zone, pagerule_id: id } }) => pageRuleView(await getPageRule(ctx, zone, id)),
  );
  app.post(
    BASE,
    { ...write, summary: 'Create a page rule', params: zoneParams, body: pageRuleBody, answer: pageRule },
    async (ctx, { params, body }) => pageRuleView(await createPageRule(ctx, params.zone_id, body)),
  );
  app.put(
    ONE,
    { ...write, summary: 'Replace a page rule', params: pageRuleParams, body: pageRuleBody, answer: pageRule },
    async (ctx, { params: { zone_id: zone, pagerule_id: id }, body }) =>
      pageRuleView(await replacePageRule(ctx, zone, id, body)),
  );
  app.patch(
    ONE,
    { ...write, summary: 'Edit a page rule', params: pageRuleParams, body: pageRuleBody, answer: pageRule },
    async (ctx, { params: { zone_id: zone, pagerule_id: id }, body }) =>
      pageRuleView(await editPageRule(ctx, zone, id, body)),
  );
  app.delete(
    ONE,
    { ...write, summary: 'Delete a page rule', params: pageRuleParams, answer: onlyId },
    async (ctx, { params: { zone_id: zone, pagerule_id: id } }) => deletePageRule(ctx, zone, id),
  );
});
