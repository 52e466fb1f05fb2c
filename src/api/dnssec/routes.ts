/** `/zones/{zone_id}/dnssec` and below (v4: §9). */
import { z } from 'zod';
import { deleteDnssec, editDnssec, getDnssec, listKeys, resignZone } from '../../control/dnssec/delegation.js';
import { startRollover } from '../../control/dnssec/rollover.js';
import { signingStatus } from '../../control/dnssec/status.js';
import { confirmDs } from '../../control/dnssec/watch.js';
import { success } from '../envelope.js';
import { routes } from '../routing/route.js';
import { zoneParams } from '../zones/schema.js';
import { dnssec, dnssecEdit, dnssecKey, dnssecStatus, dsSeen, rolloverRequest, zoneSigningKey } from './schema.js';
import { dnssecKeyView, dnssecStatusView, dnssecView, zoneSigningKeyView } from './view.js';

const PATH = '/zones/:zone_id/dnssec';
const READ = { zoneState: 'read' } as const;
const WRITE = { zoneState: 'write' } as const;

export const dnssecRoutes = routes({ tags: ['DNSSEC'], area: 'dns' }, (app) => {
  const params = zoneParams;

  app.get(PATH, { ...READ, summary: 'Get DNSSEC', params, answer: dnssec }, async (ctx, { params }) =>
    dnssecView(await getDnssec(ctx, params.zone_id)),
  );

  app.patch(
    PATH,
    { ...WRITE, summary: 'Sign a zone, or stop', params, body: dnssecEdit, answer: dnssec },
    async (ctx, { params, body }) => dnssecView(await editDnssec(ctx, params.zone_id, body)),
  );

  app.delete(
    PATH,
    { ...WRITE, summary: 'Remove keys and signatures', params, answer: z.string() },
    async (ctx, { params }) => {
      await deleteDnssec(ctx, params.zone_id);
      return params.zone_id;
    },
  );
});

/** Keys and rollovers; all but the first route are ours. */
export const dnssecKeyRoutes = routes({ tags: ['DNSSEC'], area: 'dns' }, (app) => {
  const params = zoneParams;

  app.get(
    `${PATH}/zsk`,
    { ...READ, summary: 'List zone signing keys', params, list: zoneSigningKey },
    async (ctx, { params }) => {
      const { zone, keys } = await listKeys(ctx, params.zone_id);
      const signing = keys.filter(({ role }) => role !== 'ksk');
      return success(signing.map((key) => zoneSigningKeyView(zone, key)));
    },
  );

  app.get(
    `${PATH}/keys`,
    { ...READ, summary: 'List all keys and what they wait for', params, list: dnssecKey },
    async (ctx, { params }) => {
      const { keys } = await listKeys(ctx, params.zone_id);
      return success(keys.map((key) => dnssecKeyView(key)));
    },
  );

  app.post(
    `${PATH}/rollover`,
    { ...WRITE, summary: 'Replace keys', params, body: rolloverRequest, list: dnssecKey },
    async (ctx, { params, body }) => {
      const { keys } = await startRollover(ctx, params.zone_id, body);
      return success(keys.map((key) => dnssecKeyView(key)));
    },
  );

  app.post(
    `${PATH}/ds_seen`,
    {
      ...WRITE,
      summary: 'Say which DS record the parent has',
      description: 'For zones whose parent cannot be asked from here. Otherwise the servers of the parent decide.',
      params,
      body: dsSeen,
      answer: dnssec,
    },
    async (ctx, { params, body }) => dnssecView(await confirmDs(ctx, params.zone_id, body.key_tag)),
  );
});

/** The state of signatures; both routes are ours. */
export const dnssecSignatureRoutes = routes({ tags: ['DNSSEC'], area: 'dns' }, (app) => {
  const params = zoneParams;

  app.post(
    `${PATH}/resign`,
    {
      ...WRITE,
      summary: 'Replace all signatures',
      description:
        'A part at a time. Signatures that are not valid yet, because the clock was ahead, are replaced without it.',
      params,
      answer: dnssec,
    },
    async (ctx, { params }) => {
      const [context, id] = [ctx, params.zone_id];
      await resignZone(context, id);
      return dnssecView(await getDnssec(context, id));
    },
  );

  app.get(
    `${PATH}/status`,
    { ...READ, summary: 'Get the state of signing', params, answer: dnssecStatus },
    async (ctx, { params }) => dnssecStatusView(await signingStatus(ctx, params.zone_id)),
  );
});
