/** `/zones/{zone_id}/dnssec` and below (v4: §9). */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { deleteDnssec, editDnssec, getDnssec, listKeys, resignZone } from '../../control/dnssec/delegation.js';
import { startRollover } from '../../control/dnssec/rollover.js';
import { signingStatus } from '../../control/dnssec/status.js';
import { confirmDs } from '../../control/dnssec/watch.js';
import { success } from '../envelope.js';
import type { ContextOf } from '../request.js';
import { answersList, answersOne } from '../schema.js';
import { zoneParams } from '../zones/schema.js';
import { dnssec, dnssecEdit, dnssecKey, dnssecStatus, dsSeen, rolloverRequest, zoneSigningKey } from './schema.js';
import { dnssecKeyView, dnssecStatusView, dnssecView, zoneSigningKeyView } from './view.js';

const tags = ['DNSSEC'];
const PATH = '/zones/:zone_id/dnssec';
const READ = { area: 'dns', zoneState: 'read' } as const;
const WRITE = { area: 'dns', zoneState: 'write' } as const;

export const dnssecRoutes: FastifyPluginAsyncZod<{ contextOf: ContextOf }> = async (app, { contextOf }) => {
  const params = zoneParams;

  app.get(
    PATH,
    { config: READ, schema: { tags, summary: 'Get DNSSEC', params, response: answersOne(dnssec) } },
    async (request) => success(dnssecView(await getDnssec(contextOf(request), request.params.zone_id))),
  );

  app.patch(
    PATH,
    {
      config: WRITE,
      schema: { tags, summary: 'Sign a zone, or stop', params, body: dnssecEdit, response: answersOne(dnssec) },
    },
    async (request) => success(dnssecView(await editDnssec(contextOf(request), request.params.zone_id, request.body))),
  );

  app.delete(
    PATH,
    {
      config: WRITE,
      schema: { tags, summary: 'Remove keys and signatures', params, response: answersOne(z.string()) },
    },
    async (request) => {
      await deleteDnssec(contextOf(request), request.params.zone_id);
      return success(request.params.zone_id);
    },
  );
};

/** Keys and rollovers; all but the first route are ours. */
export const dnssecKeyRoutes: FastifyPluginAsyncZod<{ contextOf: ContextOf }> = async (app, { contextOf }) => {
  const params = zoneParams;

  app.get(
    `${PATH}/zsk`,
    {
      config: READ,
      schema: { tags, summary: 'List zone signing keys', params, response: answersList(zoneSigningKey) },
    },
    async (request) => {
      const { zone, keys } = await listKeys(contextOf(request), request.params.zone_id);
      const signing = keys.filter(({ role }) => role !== 'ksk');
      return success(signing.map((key) => zoneSigningKeyView(zone, key)));
    },
  );

  app.get(
    `${PATH}/keys`,
    {
      config: READ,
      schema: { tags, summary: 'List all keys and what they wait for', params, response: answersList(dnssecKey) },
    },
    async (request) => {
      const { keys } = await listKeys(contextOf(request), request.params.zone_id);
      return success(keys.map((key) => dnssecKeyView(key)));
    },
  );

  app.post(
    `${PATH}/rollover`,
    {
      config: WRITE,
      schema: { tags, summary: 'Replace keys', params, body: rolloverRequest, response: answersList(dnssecKey) },
    },
    async (request) => {
      const { keys } = await startRollover(contextOf(request), request.params.zone_id, request.body);
      return success(keys.map((key) => dnssecKeyView(key)));
    },
  );

  app.post(
    `${PATH}/ds_seen`,
    {
      config: WRITE,
      schema: {
        tags,
        summary: 'Say which DS record the parent has',
        description: 'For zones whose parent cannot be asked from here. Otherwise the servers of the parent decide.',
        params,
        body: dsSeen,
        response: answersOne(dnssec),
      },
    },
    async (request) =>
      success(dnssecView(await confirmDs(contextOf(request), request.params.zone_id, request.body.key_tag))),
  );
};

/** The state of signatures; both routes are ours. */
export const dnssecSignatureRoutes: FastifyPluginAsyncZod<{ contextOf: ContextOf }> = async (app, { contextOf }) => {
  const params = zoneParams;

  app.post(
    `${PATH}/resign`,
    {
      config: WRITE,
      schema: {
        tags,
        summary: 'Replace all signatures',
        description:
          'A part at a time. Signatures that are not valid yet, because the clock was ahead, are replaced without it.',
        params,
        response: answersOne(dnssec),
      },
    },
    async (request) => {
      const [context, id] = [contextOf(request), request.params.zone_id];
      await resignZone(context, id);
      return success(dnssecView(await getDnssec(context, id)));
    },
  );

  app.get(
    `${PATH}/status`,
    {
      config: READ,
      schema: { tags, summary: 'Get the state of signing', params, response: answersOne(dnssecStatus) },
    },
    async (request) => success(dnssecStatusView(await signingStatus(contextOf(request), request.params.zone_id))),
  );
};
