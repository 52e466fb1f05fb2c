/** `/zones/{zone_id}/custom_hostnames` (v4: §10). */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
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
import type { ContextOf, RouteScope } from '../request.js';
import { answers, answersOne } from '../schema.js';
import { zoneParams } from '../zones/schema.js';
import { tellLimit } from './body.js';
import { LIST } from './list-routes.js';
import { customHostname, hostnameCreation, hostnameDeletion, hostnameEdit, hostnameParams, quota } from './schema.js';
import { hostnameView } from './view.js';

const tags = ['Custom hostnames'];
const ONE = `${LIST}/:custom_hostname_id`;

export interface HostnameRouteOptions {
  readonly contextOf: ContextOf;
  readonly hostnames: HostnameServices;
}

type HostnameContextOf = (request: Parameters<ContextOf>[0]) => HostnameContext;

export const hostnameRoutes: FastifyPluginAsyncZod<HostnameRouteOptions> = async (app, options) => {
  const contextOf: HostnameContextOf = (request) => ({ ...options.contextOf(request), hostnames: options.hostnames });
  addCreation(app, contextOf);
  addQuota(app, contextOf);
  addGet(app, contextOf);
  addEdit(app, contextOf);
  addDeletion(app, contextOf);
};

function addCreation(app: RouteScope, contextOf: HostnameContextOf): void {
  app.post(
    LIST,
    {
      // A lockout is told before a fault of the body.
      config: { area: 'certificates', zoneState: 'write', rawBody: true, oneCommit: true },
      schema: {
        tags,
        summary: 'Create a custom hostname',
        params: zoneParams,
        body: hostnameCreation,
        response: answersOne(customHostname),
      },
    },
    async (request, reply) => {
      try {
        const made = await createHostname(contextOf(request), request.params.zone_id, () =>
          readBody(request, hostnameCreation),
        );
        return success(hostnameView(made));
      } catch (error) {
        tellLimit(error, reply);
        throw error;
      }
    },
  );
}

function addQuota(app: RouteScope, contextOf: HostnameContextOf): void {
  app.get(
    `${LIST}/quota`,
    {
      config: { area: 'certificates' },
      schema: { tags, summary: 'Count the custom hostnames', params: zoneParams, response: answersOne(quota) },
    },
    async (request) => {
      const { allocated, used } = await getHostnameQuota(contextOf(request), request.params.zone_id);
      return success({ allocated, used, exceeded: Math.max(0, used - allocated), hard_cap: allocated });
    },
  );
}

function addGet(app: RouteScope, contextOf: HostnameContextOf): void {
  app.get(
    ONE,
    {
      config: { area: 'certificates' },
      schema: { tags, summary: 'Get a custom hostname', params: hostnameParams, response: answersOne(customHostname) },
    },
    async (request) => {
      const { zone_id, custom_hostname_id } = request.params;
      return success(hostnameView(await getHostname(contextOf(request), zone_id, custom_hostname_id)));
    },
  );
}

function addEdit(app: RouteScope, contextOf: HostnameContextOf): void {
  app.patch(
    ONE,
    {
      config: { area: 'certificates', zoneState: 'write', oneCommit: true },
      schema: {
        tags,
        summary: 'Edit a custom hostname, and check it anew',
        params: hostnameParams,
        body: hostnameEdit,
        response: answersOne(customHostname),
      },
    },
    async (request) => {
      const { zone_id, custom_hostname_id } = request.params;
      const edited = await editHostname(contextOf(request), zone_id, custom_hostname_id, request.body);
      return success(hostnameView(edited));
    },
  );
}

function addDeletion(app: RouteScope, contextOf: HostnameContextOf): void {
  app.delete(
    ONE,
    {
      config: { area: 'certificates', zoneState: 'write', oneCommit: true },
      schema: {
        tags,
        summary: 'Delete a custom hostname with its certificate',
        params: hostnameParams,
        response: answers(hostnameDeletion),
      },
    },
    async (request) => {
      const { zone_id, custom_hostname_id } = request.params;
      const { id } = await deleteHostname(contextOf(request), zone_id, custom_hostname_id);
      return { id, ...success({ id }) };
    },
  );
}
