/** `/zones/{zone_id}/secondary_dns/incoming`: the primaries of a secondary zone (v4: secondary DNS). */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import {
  createIncoming,
  deleteIncoming,
  forceTransfer,
  getIncoming,
  getIncomingStatus,
  replaceIncoming,
} from '../../control/secondary/incoming.js';
import { success } from '../envelope.js';
import type { ContextOf } from '../request.js';
import { answersOne, onlyId } from '../schema.js';
import { zoneParams as params } from '../zones/schema.js';
import { incomingBody as body, emptyBody, incoming, incomingStatus } from './schema.js';
import { incomingStatusView, incomingView } from './view.js';

const tags = ['Secondary DNS'];
const BASE = '/zones/:zone_id/secondary_dns';
const PATH = `${BASE}/incoming`;
const config = { area: 'dns' } as const;
/** Of routes that write. */
const writes = { ...config, oneCommit: true } as const;
const response = answersOne(incoming);

export const incomingRoutes: FastifyPluginAsyncZod<{ contextOf: ContextOf }> = async (app, { contextOf }) => {
  app.get(
    PATH,
    { config, schema: { tags, summary: 'Get the primaries of a secondary zone', params, response } },
    async (request) => success(incomingView(await getIncoming(contextOf(request), request.params.zone_id))),
  );
  app.post(
    PATH,
    {
      config: writes,
      schema: { tags, summary: 'Say from which peers a secondary zone comes', params, body, response },
    },
    async (request) =>
      success(incomingView(await createIncoming(contextOf(request), request.params.zone_id, request.body))),
  );
  app.put(
    PATH,
    { config: writes, schema: { tags, summary: 'Replace the primaries of a secondary zone', params, body, response } },
    async (request) =>
      success(incomingView(await replaceIncoming(contextOf(request), request.params.zone_id, request.body))),
  );
  app.delete(
    PATH,
    {
      config: writes,
      schema: { tags, summary: 'End the transfers of a secondary zone', params, response: answersOne(onlyId) },
    },
    async (request) => success(await deleteIncoming(contextOf(request), request.params.zone_id)),
  );
  app.get(
    `${PATH}/status`,
    { config, schema: { tags, summary: 'How far a secondary zone is', params, response: answersOne(incomingStatus) } },
    async (request) => success(incomingStatusView(await getIncomingStatus(contextOf(request), request.params.zone_id))),
  );
  app.post(
    `${BASE}/force_axfr`,
    {
      config: writes,
      schema: {
        tags,
        summary: 'Transfer a secondary zone at once, whatever its serial',
        params,
        body: emptyBody,
        response: answersOne(z.literal('OK')),
      },
    },
    async (request) => {
      await forceTransfer(contextOf(request), request.params.zone_id);
      return success('OK' as const);
    },
  );
};
