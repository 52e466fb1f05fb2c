/** Settings of where this server and those who ask are, for load balancers. */
import { z } from 'zod';
import { REGIONS } from '../balancing/region-codes.js';
import { about } from './setting-about.js';
import { text } from './values.js';

const group = 'Load balancing';

export const locationSettings = {
  region: z
    .enum(REGIONS, { error: `expected one of ${REGIONS.join(', ')}` })
    .optional()
    .register(about, {
      group,
      value: 'region',
      summary:
        'The region of the world in which this server is; load balancers assume that clients of unknown place are there',
      defaultText: 'none',
    }),
  locationCode: z
    .string()
    .regex(/^[A-Z]{3}$/, { error: 'expected three capital letters' })
    .optional()
    .register(about, {
      group,
      value: 'code',
      summary: 'The place of this server, such as `FRA`: the one that `pop_pools` of load balancers name',
      defaultText: 'none',
    }),
  ecs: z.enum(['on', 'off'], { error: 'expected on or off' }).default('off').register(about, {
    group,
    value: 'state',
    summary:
      'Whether every answer echoes a client subnet (EDNS, RFC 7871), with scope 0 where nothing depends on it; `off`: only answers of load balancers that may depend on it',
  }),
  geoDatabase: text().optional().register(about, {
    group,
    value: 'file',
    summary: 'Places of addresses in MaxMind’s format, City or Country (`.mmdb`); read again when it is replaced',
    defaultText: 'none',
  }),
  geoNetworks: text().optional().register(about, {
    group,
    value: 'file',
    summary:
      'Places of own networks, which come before the database: lines of a network, a country and a region, such as `10.1.0.0/16 DE WEU`; read again when it is replaced',
    defaultText: 'none',
  }),
};
