/** `/zones/{zone_id}/custom_hostnames` (v4: §10). */
import type { HostnameContext, HostnameServices } from '../../hostnames/context.js';
import {
  createHostname,
  deleteHostname,
  editHostname,
  getHostname,
  getHostnameQuota,
} from '../../hostnames/hostnames.js';
import { readBody } from '../body-schema.js';
import { success } from '../envelope.js';
import { type Routes, routes } from '../routing/route.js';
import { answers } from '../schema.js';
import { zoneParams } from '../zones/schema.js';
import { tellLimit } from './body.js';
import { LIST } from './list-routes.js';
import { customHostname, hostnameCreation, hostnameDeletion, hostnameEdit, hostnameParams, quota } from './schema.js';
import { hostnameView } from './view.js';

const ONE = `${LIST}/:custom_hostname_id`;

export interface HostnameRouteOptions {
  readonly hostnames: HostnameServices;
}

export const hostnameRoutes = routes<HostnameRouteOptions>(
  { tags: ['Custom hostnames'], area: 'certificates' },
  (all, { hostnames }) => {
    const app = all.with({ hostnames });
    app.post(
      LIST,
      {
        // A lockout is told before a fault of the body.
        zoneState: 'write',
        rawBody: true,
        oneCommit: true,
        summary: 'Create a custom hostname',
        params: zoneParams,
        body: hostnameCreation,
        answer: customHostname,
      },
      async (ctx, request, reply) => {
        try {
          const made = await createHostname(ctx, request.params.zone_id, () => readBody(request, hostnameCreation));
          return hostnameView(made);
        } catch (error) {
          tellLimit(error, reply);
          throw error;
        }
      },
    );
    app.get(
      `${LIST}/quota`,
      { summary: 'Count the custom hostnames', params: zoneParams, answer: quota },
      async (ctx, { params }) => {
        const { allocated, used } = await getHostnameQuota(ctx, params.zone_id);
        return { allocated, used, exceeded: Math.max(0, used - allocated), hard_cap: allocated };
      },
    );
    app.get(
      ONE,
      { summary: 'Get a custom hostname', params: hostnameParams, answer: customHostname },
      async (ctx, { params: { zone_id, custom_hostname_id } }) =>
        hostnameView(await getHostname(ctx, zone_id, custom_hostname_id)),
    );
    app.patch(
      ONE,
      {
        zoneState: 'write',
        oneCommit: true,
        summary: 'Edit a custom hostname, and check it anew',
        params: hostnameParams,
        body: hostnameEdit,
        answer: customHostname,
      },
      async (ctx, { params: { zone_id, custom_hostname_id }, body }) => {
        const edited = await editHostname(ctx, zone_id, custom_hostname_id, body);
        return hostnameView(edited);
      },
    );
    addDeletion(app);
  },
);

function addDeletion(app: Routes<HostnameContext>): void {
  app.delete(
    ONE,
    {
      zoneState: 'write',
      oneCommit: true,
      summary: 'Delete a custom hostname with its certificate',
      params: hostnameParams,
      response: answers(hostnameDeletion),
    },
    async (ctx, { params: { zone_id, custom_hostname_id } }) => {
      const { id } = await deleteHostname(ctx, zone_id, custom_hostname_id);
      return { id, ...success({ id }) };
    },
  );
}
