/**
 * Every screen: where it is, what it needs, and the file that draws it, which is loaded when it is opened. The first part of
 * each path also stands in src/api/dashboard/pages.ts.
 */
import { RECORD_TYPES } from './parts/record.js';
import type { Screen, ZoneScreenProps } from './screen.js';

/** In the order of the navigation. */
export const SCREENS: readonly Screen[] = [
  { path: '/overview', title: 'Overview', listed: true, load: () => import('./screens/overview/overview.js') },
  { path: '/zones', title: 'Zones', listed: true, load: () => import('./screens/zones/zones.js') },
  { path: '/live', title: 'Live', listed: true, load: () => import('./screens/live/live.js') },
  {
    path: '/buckets',
    title: 'Buckets',
    listed: true,
    needs: ['buckets'],
    load: () => import('./screens/buckets/buckets.js'),
  },
  { path: '/buckets/:bucket', title: 'Bucket', listed: false, load: () => import('./screens/buckets/bucket.js') },
  {
    path: '/servers',
    title: 'Servers',
    listed: true,
    needs: ['account'],
    load: () => import('./screens/servers/servers.js'),
  },
  {
    path: '/servers/:part',
    title: 'Servers',
    listed: false,
    needs: ['account'],
    load: () => import('./screens/servers/servers.js'),
  },
  { path: '/access', title: 'Access', listed: true, load: () => import('./screens/access/access.js') },
  { path: '/access/:part', title: 'Access', listed: false, load: () => import('./screens/access/access.js') },
];

/** Screens of one zone: below `/zones/:zone`, in the order of its tabs. */
export const ZONE_SCREENS: readonly Screen<ZoneScreenProps>[] = [
  {
    path: 'records',
    title: 'Records',
    listed: true,
    needs: ['dns'],
    narrowable: true,
    load: () => import('./screens/records/records.js'),
    reads: [RECORD_TYPES],
  },
  {
    path: 'history',
    title: 'History',
    listed: true,
    needs: ['dns'],
    load: () => import('./screens/history/history.js'),
  },
  {
    path: 'explain',
    title: 'Explain',
    listed: true,
    needs: ['dns'],
    load: () => import('./screens/explain/explain.js'),
  },
  { path: 'dnssec', title: 'DNSSEC', listed: true, needs: ['dns'], load: () => import('./screens/dnssec/dnssec.js') },
  {
    path: 'transfers',
    title: 'Transfers',
    listed: true,
    needs: ['dns'],
    load: () => import('./screens/transfers/transfers.js'),
  },
  {
    path: 'edge',
    title: 'Edge',
    listed: true,
    needs: ['zoneSettings', 'cachePurge'],
    load: () => import('./screens/edge/edge.js'),
  },
  {
    path: 'certificates',
    title: 'Certificates',
    listed: true,
    needs: ['certificates'],
    load: () => import('./screens/certificates/certificates.js'),
  },
  {
    path: 'hostnames',
    title: 'Custom hostnames',
    listed: true,
    needs: ['certificates'],
    load: () => import('./screens/hostnames/hostnames.js'),
  },
  { path: 'live', title: 'Live', listed: true, needs: ['dns'], load: () => import('./screens/live/live.js') },
  {
    path: 'settings',
    title: 'Settings',
    listed: true,
    needs: ['zone'],
    load: () => import('./screens/settings/settings.js'),
  },
];

/** Where the root leads. */
export const FIRST = '/overview';
