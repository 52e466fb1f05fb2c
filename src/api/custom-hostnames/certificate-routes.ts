/** `…/custom_hostnames/{id}/certificate_pack/{pack}/certificates/{certificate}`: certificates of a bundle (v4: §10.1). */
import { deleteCertificate, type HostnameCertificate, replaceCertificate } from '../../hostnames/bundle.js';
import { success } from '../envelope.js';
import { routes } from '../routing/route.js';
import { answers } from '../schema.js';
import type { HostnameRouteOptions } from './routes.js';
import { certificateParams, certificateReplacement, customHostname, hostnameDeletion } from './schema.js';
import { hostnameView } from './view.js';

const PATH =
  '/zones/:zone_id/custom_hostnames/:custom_hostname_id/certificate_pack/:certificate_pack_id/certificates/:certificate_id';

export const hostnameCertificateRoutes = routes<HostnameRouteOptions>(
  { tags: ['Custom hostnames'], area: 'certificates' },
  (all, { hostnames }) => {
    const app = all.with({ hostnames });
    app.put(
      PATH,
      {
        zoneState: 'write',
        summary: 'Replace one certificate of a bundle',
        params: certificateParams,
        body: certificateReplacement,
        answer: customHostname,
      },
      async (ctx, request) => {
        const { zone_id, ...params } = request.params;
        return hostnameView(await replaceCertificate(ctx, zone_id, itemOf(params), request.body));
      },
    );

    app.delete(
      PATH,
      {
        zoneState: 'write',
        summary: 'Delete one certificate of a bundle',
        params: certificateParams,
        response: answers(hostnameDeletion),
      },
      async (ctx, request) => {
        const { zone_id, ...params } = request.params;
        const { id } = await deleteCertificate(ctx, zone_id, itemOf(params));
        return { id, ...success({ id }) };
      },
    );
  },
);

function itemOf(params: {
  readonly custom_hostname_id: string;
  readonly certificate_pack_id: string;
  readonly certificate_id: string;
}): HostnameCertificate {
  const { custom_hostname_id: hostname, certificate_pack_id: pack, certificate_id: certificate } = params;
  return { hostname, pack, certificate };
}
