/**
 * Every screen: where it is, what it needs, and the file that draws it, which is loaded when it is opened. The first part of
 * each path also stands in src/api/dashboard/pages.ts.
 */
import { RECORD_TYPES } from './parts/record.js';
import type { Screen, ScreenProps, ZoneScreenProps } from './screen.js';

type Rest<Props> = Partial<Screen<Props>> & Pick<Screen<Props>, 'load'>;

/** One that stands in the navigation, unless `rest` says otherwise. */
function screen<Props>(path: string, title: string, rest: Rest<Props>): Screen<Props> {
  return { path, title, listed: true, ...rest };
}

const page = screen<ScreenProps>;
const tab = screen<ZoneScreenProps>;

/** In the order of the navigation. */
export const SCREENS: readonly Screen[] = [
  page('/overview', 'Overview', { load: () => import('./screens/overview/overview.js') }),
  page('/zones', 'Zones', { load: () => import('./screens/zones/zones.js') }),
  page('/templates', 'Templates', {
    load: () => import('./screens/templates/templates.js'),
    needs: ['dns'],
    needsAllZones: true,
  }),
  page('/live', 'Live', { load: () => import('./screens/live/live.js') }),
  page('/pools', 'Pools', { load: () => import('./screens/pools/pools.js'), needs: ['loadBalancing'] }),
  page('/buckets', 'Buckets', { load: () => import('./screens/buckets/buckets.js'), needs: ['buckets'] }),
  page('/buckets/:bucket', 'Bucket', { load: () => import('./screens/buckets/bucket.js'), listed: false }),
  page('/servers', 'Servers', { load: () => import('./screens/servers/servers.js'), needs: ['account'] }),
  page('/servers/:part', 'Servers', {
    load: () => import('./screens/servers/servers.js'),
    listed: false,
    needs: ['account'],
  }),
  page('/alerts', 'Alerts', { load: () => import('./screens/alerts/alerts.js'), needs: ['account'] }),
  page('/access', 'Access', { load: () => import('./screens/access/access.js') }),
  page('/profile', 'Profile', { load: () => import('./screens/profile/profile.js'), listed: false }),
  page('/access/:part', 'Access', { load: () => import('./screens/access/access.js'), listed: false }),
];

/** Screens of one zone: below `/zones/:zone`, in the order of its tabs. */
export const ZONE_SCREENS: readonly Screen<ZoneScreenProps>[] = [
  tab('records', 'Records', {
    load: () => import('./screens/records/records.js'),
    needs: ['dns'],
    narrowable: true,
    reads: [RECORD_TYPES],
  }),
  tab('balancers', 'Load balancers', {
    load: () => import('./screens/balancers/balancers.js'),
    needs: ['loadBalancers'],
  }),
  tab('history', 'History', { load: () => import('./screens/history/history.js'), needs: ['dns'] }),
  tab('explain', 'Explain', { load: () => import('./screens/explain/explain.js'), needs: ['dns'] }),
  tab('dnssec', 'DNSSEC', { load: () => import('./screens/dnssec/dnssec.js'), needs: ['dns'] }),
  tab('transfers', 'Transfers', { load: () => import('./screens/transfers/transfers.js'), needs: ['dns'] }),
  tab('edge', 'Edge', { load: () => import('./screens/edge/edge.js'), needs: ['zoneSettings', 'cachePurge'] }),
  tab('rules', 'Rules', {
    load: () => import('./screens/rules/rules.js'),
    needs: ['redirects', 'transforms', 'pageRules'],
  }),
  tab('certificates', 'Certificates', {
    load: () => import('./screens/certificates/certificates.js'),
    needs: ['certificates'],
  }),
  tab('hostnames', 'Custom hostnames', {
    load: () => import('./screens/hostnames/hostnames.js'),
    needs: ['certificates'],
  }),
  tab('statistics', 'Statistics', { load: () => import('./screens/statistics/statistics.js'), needs: ['dns'] }),
  tab('live', 'Live', { load: () => import('./screens/live/live.js'), needs: ['dns'] }),
  tab('settings', 'Settings', { load: () => import('./screens/settings/settings.js'), needs: ['zone'] }),
];

/** Where the root leads. */
export const FIRST = '/overview';
