/** Settings of the edge: TLS and HTTP in front of origins. */
import { z } from 'zod';
import { about } from './setting-about.js';
import { isAddress, port, texts, wholeNumber } from './values.js';

const group = 'Edge';

export const edgeSettings = {
  edge: z.enum(['auto', 'on', 'off'], { error: 'expected auto, on or off' }).default('auto').register(about, {
    group,
    value: 'mode',
    summary: 'Whether the edge runs: `auto` while something is proxied or a custom hostname exists, `on`, or `off`',
  }),
  edgeHost: texts('IP addresses', isAddress, { atLeast: 1 }).prefault('0.0.0.0,::').register(about, {
    group,
    value: 'addresses',
    summary: 'Addresses on which the edge listens, separated by commas',
  }),
  edgeHttpPort: port().optional().register(about, {
    group,
    value: 'port',
    summary: 'HTTP port of the edge',
    defaultText: '80, or 8080 if 80 cannot be bound',
  }),
  edgeHttpsPort: port().optional().register(about, {
    group,
    value: 'port',
    summary: 'HTTPS port of the edge',
    defaultText: '443, or 8443 if 443 cannot be bound',
  }),
  edgeProcesses: wholeNumber(1, 64, 'a number of processes').default(1).register(about, {
    group,
    value: 'count',
    summary: 'Processes that answer HTTP and HTTPS, which share the ports; more than one needs Linux',
  }),
  edgeAddresses: texts('IP addresses', isAddress, { atLeast: 1 }).optional().register(about, {
    group,
    value: 'addresses',
    summary: 'Addresses in answers for proxied names; when set, records must not name them as an origin',
    defaultText: 'the public addresses of this machine, otherwise `127.0.0.1,::1`',
  }),
  edgeBodyLimit: wholeNumber(0, Number.MAX_SAFE_INTEGER, 'octets')
    .default(100 * 1024 * 1024)
    .register(about, { group, value: 'octets', summary: 'Largest body of a request to an origin, in octets' }),
  edgeCacheSize: wholeNumber(0, Number.MAX_SAFE_INTEGER, 'octets')
    .default(256 * 1024 * 1024)
    .register(about, {
      group,
      value: 'octets',
      summary: 'Memory for stored responses, in octets, and as much again for those on their way; 0: nothing is stored',
    }),
  edgeAccessLog: wholeNumber(0, 1_000_000_000, 'a number of requests').default(0).register(about, {
    group,
    value: 'requests',
    summary: 'One in this many requests is logged; 1: all, 0: none',
  }),
  edgeClientConnections: wholeNumber(1, 8192, 'connections').default(32).register(about, {
    group,
    value: 'number',
    summary: 'Connections to origins that one client (address, or IPv6 /64) may use at once',
  }),
  edgeUnderscores: z.enum(['drop', 'keep'], { error: 'expected drop or keep' }).default('drop').register(about, {
    group,
    value: 'mode',
    summary: 'Whether header fields of clients whose names have underscores reach origins (`keep`), or not (`drop`)',
  }),
  edgeErrorDetails: z.enum(['hide', 'show'], { error: 'expected hide or show' }).default('hide').register(about, {
    group,
    value: 'mode',
    summary: 'Whether error answers of the edge show the cause and a remedy (`show`), or only the code',
  }),
};
