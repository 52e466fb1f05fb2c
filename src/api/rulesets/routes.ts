/** `/zones/{zone_id}/rulesets` (v4: rulesets): the sets of rules of a zone, one for each phase. */
import type { FastifyReply } from 'fastify';
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import type { RulesetItem } from '../../control/rulesets/item.js';
import {
  createRuleset,
  deleteRuleset,
  deleteVersion,
  getEntrypoint,
  getRuleset,
  getVersion,
  listRulesets,
  putEntrypoint,
  replaceRuleset,
} from '../../control/rulesets/rulesets.js';
import { success } from '../envelope.js';
import type { ContextOf, RouteScope } from '../request.js';
import { answersList, answersOne, failureEnvelope } from '../schema.js';
import { zoneParams } from '../zones/schema.js';
import {
  listedRuleset,
  phaseParams,
  phaseVersionParams,
  ruleset,
  rulesetBody,
  rulesetParams,
  versionParams,
} from './schema.js';
import { listedView, rulesetView } from './view.js';

const tags = ['Rulesets'];
/** The phase decides which permission is needed, so the use cases ask for it; where there is no ruleset, none is needed. */
const read = { area: 'zone', objectState: 'read' } as const;
const write = { area: 'any', objectState: 'write', oneCommit: true } as const;
const BASE = '/zones/:zone_id/rulesets';
const ENTRYPOINT = `${BASE}/phases/:phase/entrypoint`;

interface Options {
  readonly contextOf: ContextOf;
}

export const rulesetRoutes: FastifyPluginAsyncZod<Options> = async (app, options) => {
  addList(app, options);
  addEntrypoints(app, options);
  addOne(app, options);
  addVersions(app, options);
};

/** One ruleset, with its entity tag. */
export function answerRuleset(reply: FastifyReply, item: RulesetItem) {
  reply.header('etag', item.tag);
  return success(rulesetView(item));
}

function addList(app: RouteScope, { contextOf }: Options): void {
  app.get(
    BASE,
    {
      config: { area: 'zone' },
      schema: { tags, summary: 'List rulesets of a zone', params: zoneParams, response: answersList(listedRuleset) },
    },
    async (request) => success((await listRulesets(contextOf(request), request.params.zone_id)).map(listedView)),
  );
  app.post(
    BASE,
    {
      config: write,
      schema: {
        ...{ tags, summary: 'Create a ruleset', params: zoneParams, body: rulesetBody },
        response: answersOne(ruleset),
      },
    },
    async (request, reply) =>
      answerRuleset(reply, await createRuleset(contextOf(request), request.params.zone_id, request.body)),
  );
}

function addEntrypoints(app: RouteScope, { contextOf }: Options): void {
  app.get(
    ENTRYPOINT,
    {
      config: read,
      schema: { tags, summary: 'Get the ruleset of a phase', params: phaseParams, response: answersOne(ruleset) },
    },
    async (request, reply) => {
      const { zone_id: zone, phase } = request.params;
      return answerRuleset(reply, await getEntrypoint(contextOf(request), zone, phase));
    },
  );
  app.put(
    ENTRYPOINT,
    {
      config: write,
      schema: {
        ...{ tags, summary: 'Write the ruleset of a phase', params: phaseParams, body: rulesetBody },
        response: answersOne(ruleset),
      },
    },
    async (request, reply) => {
      const { zone_id: zone, phase } = request.params;
      return answerRuleset(reply, await putEntrypoint(contextOf(request), zone, phase, request.body));
    },
  );
  app.get(
    `${ENTRYPOINT}/versions`,
    {
      config: read,
      schema: {
        ...{ tags, summary: 'List versions of the ruleset of a phase: the current one', params: phaseParams },
        response: answersList(listedRuleset),
      },
    },
    async (request) => {
      const { zone_id: zone, phase } = request.params;
      return success([listedView(await getEntrypoint(contextOf(request), zone, phase))]);
    },
  );
  app.get(
    `${ENTRYPOINT}/versions/:version`,
    {
      config: read,
      schema: {
        ...{ tags, summary: 'Get a version of the ruleset of a phase', params: phaseVersionParams },
        response: answersOne(ruleset),
      },
    },
    async (request, reply) => {
      const { zone_id: zone, phase, version } = request.params;
      return answerRuleset(reply, await getEntrypoint(contextOf(request), zone, phase, version));
    },
  );
}

function addOne(app: RouteScope, { contextOf }: Options): void {
  const path = `${BASE}/:ruleset_id`;
  app.get(
    path,
    {
      config: read,
      schema: { tags, summary: 'Get a ruleset', params: rulesetParams, response: answersOne(ruleset) },
    },
    async (request, reply) => {
      const { zone_id: zone, ruleset_id: id } = request.params;
      return answerRuleset(reply, await getRuleset(contextOf(request), zone, id));
    },
  );
  app.put(
    path,
    {
      config: write,
      schema: {
        ...{ tags, summary: 'Replace a ruleset', params: rulesetParams, body: rulesetBody },
        response: answersOne(ruleset),
      },
    },
    async (request, reply) => {
      const { zone_id: zone, ruleset_id: id } = request.params;
      return answerRuleset(reply, await replaceRuleset(contextOf(request), zone, id, request.body));
    },
  );
  app.delete(
    path,
    {
      config: write,
      schema: {
        ...{ tags, summary: 'Delete a ruleset', params: rulesetParams },
        response: { 204: z.null(), '4xx': failureEnvelope, '5xx': failureEnvelope },
      },
    },
    async (request, reply) => {
      const { zone_id: zone, ruleset_id: id } = request.params;
      await deleteRuleset(contextOf(request), zone, id);
      return reply.code(204).send(null);
    },
  );
}

function addVersions(app: RouteScope, { contextOf }: Options): void {
  const path = `${BASE}/:ruleset_id/versions`;
  app.get(
    path,
    {
      config: read,
      schema: {
        ...{ tags, summary: 'List versions of a ruleset: the current one', params: rulesetParams },
        response: answersList(listedRuleset),
      },
    },
    async (request) => {
      const { zone_id: zone, ruleset_id: id } = request.params;
      return success([listedView(await getRuleset(contextOf(request), zone, id))]);
    },
  );
  app.get(
    `${path}/:version`,
    {
      config: read,
      schema: { tags, summary: 'Get a version of a ruleset', params: versionParams, response: answersOne(ruleset) },
    },
    async (request, reply) => {
      const { zone_id: zone, ruleset_id: id, version } = request.params;
      return answerRuleset(reply, await getVersion(contextOf(request), zone, id, version));
    },
  );
  app.delete(
    `${path}/:version`,
    {
      config: write,
      schema: {
        ...{
          tags,
          summary: 'Delete a version of a ruleset: refused, because there is only one',
          params: versionParams,
        },
        response: answersOne(z.null()),
      },
    },
    async (request) => {
      const { zone_id: zone, ruleset_id: id, version } = request.params;
      return deleteVersion(contextOf(request), zone, id, version);
    },
  );
}
