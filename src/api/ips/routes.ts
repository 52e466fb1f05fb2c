/** `/ips`: the networks of the edge; the only v4 route without a credential (v4: §2, §12). */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { printIP } from '../../base/ip.js';
import { isPresent, textValue } from '../query.js';
import { queryOf } from '../request.js';
import type { AddRoutes } from '../routing/route.js';

const networks = z
  .object({
    ipv4_cidrs: z.array(z.string()),
    ipv6_cidrs: z.array(z.string()),
    etag: z.string(),
    jdcloud_cidrs: z.array(z.string()).optional(),
    china_ipv4_cidrs: z.array(z.string()).optional(),
    china_ipv6_cidrs: z.array(z.string()).optional(),
  })
  .meta({ id: 'Networks' });

export const ipRoutes: AddRoutes<{ edgeAddresses: readonly Uint8Array[] }> = (app, options) => {
  const cidrs = options.edgeAddresses.map((address) => `${printIP(address)}/${address.length * 8}`);
  const own = {
    ipv4_cidrs: cidrs.filter((cidr) => !cidr.includes(':')),
    ipv6_cidrs: cidrs.filter((cidr) => cidr.includes(':')),
    etag: createHash('sha256').update(cidrs.join()).digest('hex').slice(0, 32),
  };

  app.open.get(
    '/ips',
    {
      access: 'public',
      tags: ['Networks'],
      summary: 'List the networks of the edge',
      security: [],
      querystring: z.object({ networks: z.string().optional(), china_colo: z.string().optional() }),
      answer: networks,
    },
    async (request) => {
      const query = queryOf(request);
      return {
        ...own,
        ...(textValue(query, 'networks') === 'jdcloud' ? { jdcloud_cidrs: [] } : {}),
        ...(isPresent(query, 'china_colo') ? { china_ipv4_cidrs: [], china_ipv6_cidrs: [] } : {}),
      };
    },
  );
};
