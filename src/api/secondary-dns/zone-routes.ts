/** `/zones/{zone_id}/secondary_dns/…`: the transfers of a zone to its peers (v4: secondary DNS). */
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
import { routes } from '../routing/route.js';
import { onlyId } from '../schema.js';
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

const BASE = '/zones/:zone_id/secondary_dns';
const PATH = `${BASE}/outgoing`;
const config = { area: 'dns' } as const;
/** Of routes that write. */
const writes = { ...config, oneCommit: true } as const;
const params = zoneParams;

interface RouteOptions {
  readonly services: SecondaryServices;
}

export const secondaryZoneRoutes = routes<RouteOptions>({ tags: ['Secondary DNS'] }, (app, { services }) => {
  app.post(
    `${BASE}/secondaries`,
    {
      ...writes,
      summary: 'Let a server transfer the zone: a key, a peer and the transfers in one write',
      params,
      body: secondaryBody,
      answer: addedSecondary,
    },
    async (ctx, request) => {
      const { params: path, body: input } = request;
      return addedSecondaryView(await addSecondary(ctx, services, path.zone_id, input));
    },
  );
  app.get(
    PATH,
    { ...config, summary: 'Get the transfers of a zone', params, answer: outgoing },
    async (ctx, { params }) => outgoingView(await getOutgoing(ctx, params.zone_id)),
  );
  app.post(
    PATH,
    { ...writes, summary: 'Link a zone to peers', params, body: outgoingBody, answer: outgoing },
    async (ctx, { params, body }) => outgoingView(await createOutgoing(ctx, params.zone_id, body)),
  );
  app.put(
    PATH,
    { ...writes, summary: 'Replace the peers of a zone', params, body: outgoingBody, answer: outgoing },
    async (ctx, { params, body }) => outgoingView(await replaceOutgoing(ctx, params.zone_id, body)),
  );
  app.delete(
    PATH,
    { ...writes, summary: 'End the transfers of a zone', params, answer: onlyId },
    async (ctx, { params }) => deleteOutgoing(ctx, params.zone_id),
  );
  stateRoutes(app, undefined);
});

const stateRoutes = routes({ tags: ['Secondary DNS'] }, (app) => {
  app.post(
    `${PATH}/enable`,
    { ...writes, summary: 'Enable transfers', params, body, answer: status },
    async (ctx, { params }) => statusView(await enableOutgoing(ctx, params.zone_id, true)),
  );
  app.post(
    `${PATH}/disable`,
    { ...writes, summary: 'Disable transfers', params, body, answer: status },
    async (ctx, { params }) => statusView(await enableOutgoing(ctx, params.zone_id, false)),
  );
  app.get(
    `${PATH}/status`,
    { ...config, summary: 'Whether transfers are enabled', params, answer: status },
    async (ctx, { params }) => statusView(await getOutgoing(ctx, params.zone_id)),
  );
  app.post(
    `${PATH}/force_notify`,
    { ...writes, summary: 'Notify the peers, which transfer the whole zone', params, body, answer: z.literal('OK') },
    async (ctx, { params }) => {
      await forgetHistory(ctx, params.zone_id);
      return 'OK' as const;
    },
  );
  app.get(
    `${BASE}/status`,
    { ...config, summary: 'What the peers of a zone serve', params, answer: z.array(peerStatus) },
    async (ctx, { params }) => {
      const peers = await getPeerStatus(ctx, params.zone_id);
      return peers.map(peerStatusView);
    },
  );
});
