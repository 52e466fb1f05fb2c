/** `/zones/{zone_id}/changes/{change}`: whether every DNS process serves a change (ours). */
import type { Propagation } from '../../control/kernel/propagation.js';
import { getChange } from '../../control/zones/changes.js';
import type { AddRoutes } from '../routing/route.js';
import { changeParams, zoneChange } from './schema.js';
import { zoneChangeView } from './view.js';

export interface ZoneChangeOptions {
  readonly propagation: Propagation | undefined;
}

export const zoneChangeRoutes: AddRoutes<ZoneChangeOptions> = (app, { propagation }) => {
  app.get(
    '/zones/:zone_id/changes/:change',
    {
      area: 'zone',
      tags: ['Zone history'],
      summary: 'Get the progress of a change',
      params: changeParams,
      answer: zoneChange,
    },
    async (ctx, { params: { zone_id: zoneId, change } }) => {
      const item = await getChange(ctx, zoneId, change);
      return zoneChangeView(item, propagation?.processes() ?? []);
    },
  );
};
