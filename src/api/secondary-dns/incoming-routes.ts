/** `/zones/{zone_id}/secondary_dns/incoming`: the primaries of a secondary zone (v4: secondary DNS). */
import { z } from 'zod';
import {
  createIncoming,
  deleteIncoming,
  forceTransfer,
  getIncoming,
  getIncomingStatus,
  replaceIncoming,
} from '../../control/secondary/incoming.js';
import { routes } from '../routing/route.js';
import { onlyId } from '../schema.js';
import { zoneParams as params } from '../zones/schema.js';
import { incomingBody as body, emptyBody, incoming, incomingStatus } from './schema.js';
import { incomingStatusView, incomingView } from './view.js';

const BASE = '/zones/:zone_id/secondary_dns';
const PATH = `${BASE}/incoming`;
const config = { area: 'dns' } as const;
/** Of routes that write. */
const writes = { ...config, oneCommit: true } as const;

export const incomingRoutes = routes({ tags: ['Secondary DNS'] }, (app) => {
  app.get(
    PATH,
    { ...config, summary: 'Get the primaries of a secondary zone', params, answer: incoming },
    async (ctx, { params }) => incomingView(await getIncoming(ctx, params.zone_id)),
  );
  app.post(
    PATH,
    { ...writes, summary: 'Say from which peers a secondary zone comes', params, body, answer: incoming },
    async (ctx, { params, body }) => incomingView(await createIncoming(ctx, params.zone_id, body)),
  );
  app.put(
    PATH,
    { ...writes, summary: 'Replace the primaries of a secondary zone', params, body, answer: incoming },
    async (ctx, { params, body }) => incomingView(await replaceIncoming(ctx, params.zone_id, body)),
  );
  app.delete(
    PATH,
    { ...writes, summary: 'End the transfers of a secondary zone', params, answer: onlyId },
    async (ctx, { params }) => deleteIncoming(ctx, params.zone_id),
  );
  app.get(
    `${PATH}/status`,
    { ...config, summary: 'How far a secondary zone is', params, answer: incomingStatus },
    async (ctx, { params }) => incomingStatusView(await getIncomingStatus(ctx, params.zone_id)),
  );
  app.post(
    `${BASE}/force_axfr`,
    {
      ...writes,
      summary: 'Transfer a secondary zone at once, whatever its serial',
      params,
      body: emptyBody,
      answer: z.literal('OK'),
    },
    async (ctx, { params }) => {
      await forceTransfer(ctx, params.zone_id);
      return 'OK' as const;
    },
  );
});
