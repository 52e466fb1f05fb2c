/** `/zones/{zone_id}/secondary_dns/…`: the transfers of a zone to its peers (v4: secondary DNS). */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { addSecondary } from '../../control/secondary/add-secondary.js';
import {
  createOutgoing,
  deleteOutgoing,
  enableOutgoing,
  forgetHistory,
  getOutgoing,
  getPeerStatus,
  replaceOutgoing,
} from '../../control/secondary/outgoing.js';
import type { SecondaryServices } from '../../control/secondary/tsigs.js';
import { success } from '../envelope.js';
import type { ContextOf } from '../request.js';
import { answersOne, onlyId } from '../schema.js';
import { zoneParams } from '../zones/schema.js';
import {
  addedSecondary,
  emptyBody as body,
  outgoing,
  outgoingBody,
  peerStatus,
  secondaryBody,
  status,
} from './schema.js';
import { addedSecondaryView, outgoingView, peerStatusView, statusView } from './view.js';

const tags = ['Secondary DNS'];
const BASE = '/zones/:zone_id/secondary_dns';
const PATH = `${BASE}/outgoing`;
const config = { area: 'dns' } as const;
/** Of routes that write. */
const writes = { ...config, oneCommit: true } as const;
const params = zoneParams;
const response = answersOne(outgoing);

interface RouteOptions {
  readonly contextOf: ContextOf;
  readonly services: SecondaryServices;
}

export const secondaryZoneRoutes: FastifyPluginAsyncZod<RouteOptions> = async (app, { contextOf, services }) => {
  app.post(
    `${BASE}/secondaries`,
    {
      config: writes,
      schema: {
        tags,
        summary: 'Let a server transfer the zone: a key, a peer and the transfers in one write',
        params,
        body: secondaryBody,
        response: answersOne(addedSecondary),
      },
    },
    async (request) => {
      const { params: path, body: input } = request;
      return success(addedSecondaryView(await addSecondary(contextOf(request), services, path.zone_id, input)));
    },
  );
  app.get(
    PATH,
    { config, schema: { tags, summary: 'Get the transfers of a zone', params, response } },
    async (request) => success(outgoingView(await getOutgoing(contextOf(request), request.params.zone_id))),
  );
  app.post(
    PATH,
    { config: writes, schema: { tags, summary: 'Link a zone to peers', params, body: outgoingBody, response } },
    async (request) =>
      success(outgoingView(await createOutgoing(contextOf(request), request.params.zone_id, request.body))),
  );
  app.put(
    PATH,
    { config: writes, schema: { tags, summary: 'Replace the peers of a zone', params, body: outgoingBody, response } },
    async (request) =>
      success(outgoingView(await replaceOutgoing(contextOf(request), request.params.zone_id, request.body))),
  );
  app.delete(
    PATH,
    { config: writes, schema: { tags, summary: 'End the transfers of a zone', params, response: answersOne(onlyId) } },
    async (request) => success(await deleteOutgoing(contextOf(request), request.params.zone_id)),
  );
  await app.register(stateRoutes, { contextOf });
};

const stateRoutes: FastifyPluginAsyncZod<{ contextOf: ContextOf }> = async (app, { contextOf }) => {
  app.post(
    `${PATH}/enable`,
    { config: writes, schema: { tags, summary: 'Enable transfers', params, body, response: answersOne(status) } },
    async (request) => success(statusView(await enableOutgoing(contextOf(request), request.params.zone_id, true))),
  );
  app.post(
    `${PATH}/disable`,
    { config: writes, schema: { tags, summary: 'Disable transfers', params, body, response: answersOne(status) } },
    async (request) => success(statusView(await enableOutgoing(contextOf(request), request.params.zone_id, false))),
  );
  app.get(
    `${PATH}/status`,
    { config, schema: { tags, summary: 'Whether transfers are enabled', params, response: answersOne(status) } },
    async (request) => success(statusView(await getOutgoing(contextOf(request), request.params.zone_id))),
  );
  app.post(
    `${PATH}/force_notify`,
    {
      config: writes,
      schema: {
        tags,
        summary: 'Notify the peers, which transfer the whole zone',
        params,
        body,
        response: answersOne(z.literal('OK')),
      },
    },
    async (request) => {
      await forgetHistory(contextOf(request), request.params.zone_id);
      return success('OK' as const);
    },
  );
  app.get(
    `${BASE}/status`,
    {
      config,
      schema: { tags, summary: 'What the peers of a zone serve', params, response: answersOne(z.array(peerStatus)) },
    },
    async (request) => {
      const peers = await getPeerStatus(contextOf(request), request.params.zone_id);
      return success(peers.map(peerStatusView));
    },
  );
};
