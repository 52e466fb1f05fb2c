/** `/zones/{zone_id}/rulesets` (v4: rulesets): the sets of rules of a zone, one for each phase. */
import type { FastifyReply } from 'fastify';
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
import { type Routes, routes } from '../routing/route.js';
import { answersOne, failureEnvelope } from '../schema.js';
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

/** The phase decides which permission is needed, so the use cases ask for it; where there is no ruleset, none is needed. */
const read = { area: 'zone', objectState: 'read' } as const;
const write = { area: 'any', objectState: 'write', oneCommit: true } as const;
const BASE = '/zones/:zone_id/rulesets';
const ENTRYPOINT = `${BASE}/phases/:phase/entrypoint`;

export const rulesetRoutes = routes({ tags: ['Rulesets'] }, (app) => {
  app.get(
    BASE,
    { area: 'zone', summary: 'List rulesets of a zone', params: zoneParams, list: listedRuleset },
    async (ctx, { params }) => success((await listRulesets(ctx, params.zone_id)).map(listedView)),
  );
  app.post(
    BASE,
    { ...write, summary: 'Create a ruleset', params: zoneParams, body: rulesetBody, response: answersOne(ruleset) },
    async (ctx, { params, body }, reply) => answerRuleset(reply, await createRuleset(ctx, params.zone_id, body)),
  );
  app.get(
    ENTRYPOINT,
    { ...read, summary: 'Get the ruleset of a phase', params: phaseParams, response: answersOne(ruleset) },
    async (ctx, { params: { zone_id: zone, phase } }, reply) =>
      answerRuleset(reply, await getEntrypoint(ctx, zone, phase)),
  );
  app.put(
    ENTRYPOINT,
    {
      ...write,
      summary: 'Write the ruleset of a phase',
      params: phaseParams,
      body: rulesetBody,
      response: answersOne(ruleset),
    },
    async (ctx, { params: { zone_id: zone, phase }, body }, reply) =>
      answerRuleset(reply, await putEntrypoint(ctx, zone, phase, body)),
  );
  app.get(
    `${ENTRYPOINT}/versions`,
    {
      ...read,
      summary: 'List versions of the ruleset of a phase: the current one',
      params: phaseParams,
      list: listedRuleset,
    },
    async (ctx, { params: { zone_id: zone, phase } }) => success([listedView(await getEntrypoint(ctx, zone, phase))]),
  );
  app.get(
    `${ENTRYPOINT}/versions/:version`,
    {
      ...read,
      summary: 'Get a version of the ruleset of a phase',
      params: phaseVersionParams,
      response: answersOne(ruleset),
    },
    async (ctx, { params: { zone_id: zone, phase, version } }, reply) =>
      answerRuleset(reply, await getEntrypoint(ctx, zone, phase, version)),
  );
  addOne(app);
  addVersions(app);
});

/** One ruleset, with its entity tag. */
export function answerRuleset(reply: FastifyReply, item: RulesetItem) {
  reply.header('etag', item.tag);
  return success(rulesetView(item));
}

function addOne(app: Routes): void {
  const path = `${BASE}/:ruleset_id`;
  app.get(
    path,
    { ...read, summary: 'Get a ruleset', params: rulesetParams, response: answersOne(ruleset) },
    async (ctx, { params: { zone_id: zone, ruleset_id: id } }, reply) =>
      answerRuleset(reply, await getRuleset(ctx, zone, id)),
  );
  app.put(
    path,
    { ...write, summary: 'Replace a ruleset', params: rulesetParams, body: rulesetBody, response: answersOne(ruleset) },
    async (ctx, { params: { zone_id: zone, ruleset_id: id }, body }, reply) =>
      answerRuleset(reply, await replaceRuleset(ctx, zone, id, body)),
  );
  app.delete(
    path,
    {
      ...write,
      summary: 'Delete a ruleset',
      params: rulesetParams,
      response: { 204: z.null(), '4xx': failureEnvelope, '5xx': failureEnvelope },
    },
    async (ctx, { params: { zone_id: zone, ruleset_id: id } }, reply) => {
      await deleteRuleset(ctx, zone, id);
      return reply.code(204).send(null);
    },
  );
}

function addVersions(app: Routes): void {
  const path = `${BASE}/:ruleset_id/versions`;
  app.get(
    path,
    { ...read, summary: 'List versions of a ruleset: the current one', params: rulesetParams, list: listedRuleset },
    async (ctx, { params: { zone_id: zone, ruleset_id: id } }) =>
      success([listedView(await getRuleset(ctx, zone, id))]),
  );
  app.get(
    `${path}/:version`,
    { ...read, summary: 'Get a version of a ruleset', params: versionParams, response: answersOne(ruleset) },
    async (ctx, { params: { zone_id: zone, ruleset_id: id, version } }, reply) =>
      answerRuleset(reply, await getVersion(ctx, zone, id, version)),
  );
  app.delete(
    `${path}/:version`,
    {
      ...write,
      summary: 'Delete a version of a ruleset: refused, because there is only one',
      params: versionParams,
      response: answersOne(z.null()),
    },
    async (ctx, { params: { zone_id: zone, ruleset_id: id, version } }) => deleteVersion(ctx, zone, id, version),
  );
}
