/** `/zones/{zone_id}/pagerules` (v4: page rules). */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
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
import { type ContextOf, queryOf, type RouteScope } from '../request.js';
import { answersList, answersOne, onlyId } from '../schema.js';
import { printTime } from '../times.js';
import { zoneParams } from '../zones/schema.js';
import { listQuery, type PageRuleShape, pageRule, pageRuleBody, pageRuleParams } from './schema.js';

const tags = ['Page rules'];
/** Who sees the zone may learn that it has none; the use cases examine the rest. */
const read = { area: 'zone', objectState: 'read' } as const;
const write = { area: 'pageRules', objectState: 'write', oneCommit: true } as const;
const BASE = '/zones/:zone_id/pagerules';
const ONE = `${BASE}/:pagerule_id`;

interface Options {
  readonly contextOf: ContextOf;
}

function pageRuleView({ created_on: created, modified_on: modified, ...rule }: StoredPageRule): PageRuleShape {
  const { id, priority, status } = rule;
  return {
    ...{ id, targets: [...rule.targets], actions: [...rule.actions], priority, status },
    ...{ created_on: printTime(created), modified_on: printTime(modified) },
  };
}

export const pageRuleRoutes: FastifyPluginAsyncZod<Options> = async (app, options) => {
  addReads(app, options);
  addWrites(app, options);
};

function addReads(app: RouteScope, { contextOf }: Options): void {
  app.get(
    BASE,
    {
      config: read,
      schema: {
        ...{ tags, summary: 'List page rules', params: zoneParams, querystring: listQuery },
        response: answersList(pageRule),
      },
    },
    async (request, reply) => {
      const query = queryOf(request);
      const wanted = choiceValue(query, 'status', ['active', 'disabled']);
      const order = choiceValue(query, 'order', ['priority', 'status']) ?? 'priority';
      const isUp = choiceValue(query, 'direction', ['asc', 'desc']) === 'asc';
      const { rules, tag } = await listPageRules(contextOf(request), request.params.zone_id);
      if (tag !== undefined) reply.header('etag', tag);
      const shown = rules.filter(({ status }) => wanted === undefined || status === wanted);
      const sorted = order === 'status' ? shown.toSorted((a, b) => (a.status < b.status ? 1 : -1)) : shown;
      return success((isUp ? sorted.toReversed() : sorted).map(pageRuleView));
    },
  );
  app.get(
    ONE,
    {
      config: read,
      schema: { tags, summary: 'Get a page rule', params: pageRuleParams, response: answersOne(pageRule) },
    },
    async (request) => {
      const { zone_id: zone, pagerule_id: id } = request.params;
      return success(pageRuleView(await getPageRule(contextOf(request), zone, id)));
    },
  );
}

function addWrites(app: RouteScope, { contextOf }: Options): void {
  const response = answersOne(pageRule);
  app.post(
    BASE,
    {
      config: write,
      schema: { tags, summary: 'Create a page rule', params: zoneParams, body: pageRuleBody, response },
    },
    async (request) =>
      success(pageRuleView(await createPageRule(contextOf(request), request.params.zone_id, request.body))),
  );
  app.put(
    ONE,
    {
      config: write,
      schema: { tags, summary: 'Replace a page rule', params: pageRuleParams, body: pageRuleBody, response },
    },
    async (request) => {
      const { zone_id: zone, pagerule_id: id } = request.params;
      return success(pageRuleView(await replacePageRule(contextOf(request), zone, id, request.body)));
    },
  );
  app.patch(
    ONE,
    {
      config: write,
      schema: { tags, summary: 'Edit a page rule', params: pageRuleParams, body: pageRuleBody, response },
    },
    async (request) => {
      const { zone_id: zone, pagerule_id: id } = request.params;
      return success(pageRuleView(await editPageRule(contextOf(request), zone, id, request.body)));
    },
  );
  app.delete(
    ONE,
    {
      config: write,
      schema: { tags, summary: 'Delete a page rule', params: pageRuleParams, response: answersOne(onlyId) },
    },
    async (request) => {
      const { zone_id: zone, pagerule_id: id } = request.params;
      return success(await deletePageRule(contextOf(request), zone, id));
    },
  );
}
