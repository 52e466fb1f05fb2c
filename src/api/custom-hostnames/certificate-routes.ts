/** `…/custom_hostnames/{id}/certificate_pack/{pack}/certificates/{certificate}`: certificates of a bundle (v4: §10.1). */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { deleteCertificate, type HostnameCertificate, replaceCertificate } from '../../hostnames/bundle.js';
import { success } from '../envelope.js';
import { answers, answersOne } from '../schema.js';
import type { HostnameRouteOptions } from './routes.js';
import { certificateParams, certificateReplacement, customHostname, hostnameDeletion } from './schema.js';
import { hostnameView } from './view.js';

const tags = ['Custom hostnames'];
const PATH =
  '/zones/:zone_id/custom_hostnames/:custom_hostname_id/certificate_pack/:certificate_pack_id/certificates/:certificate_id';

export const hostnameCertificateRoutes: FastifyPluginAsyncZod<HostnameRouteOptions> = async (app, options) => {
  app.put(
    PATH,
    {
      config: { area: 'certificates', zoneState: 'write' },
      schema: {
        tags,
        summary: 'Replace one certificate of a bundle',
        params: certificateParams,
        body: certificateReplacement,
        response: answersOne(customHostname),
      },
    },
    async (request) => {
      const ctx = { ...options.contextOf(request), hostnames: options.hostnames };
      const { zone_id, ...params } = request.params;
      return success(hostnameView(await replaceCertificate(ctx, zone_id, itemOf(params), request.body)));
    },
  );

  app.delete(
    PATH,
    {
      config: { area: 'certificates', zoneState: 'write' },
      schema: {
        tags,
        summary: 'Delete one certificate of a bundle',
        params: certificateParams,
        response: answers(hostnameDeletion),
      },
    },
    async (request) => {
      const { zone_id, ...params } = request.params;
      const { id } = await deleteCertificate(options.contextOf(request), zone_id, itemOf(params));
      return { id, ...success({ id }) };
    },
  );
};

function itemOf(params: {
  readonly custom_hostname_id: string;
  readonly certificate_pack_id: string;
  readonly certificate_id: string;
}): HostnameCertificate {
  const { custom_hostname_id: hostname, certificate_pack_id: pack, certificate_id: certificate } = params;
  return { hostname, pack, certificate };
}
