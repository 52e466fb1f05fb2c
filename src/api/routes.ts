/** All routes, in the order of the documentation. A resource is a line here and a folder. */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import type { MailServices } from '../alerts/policies.js';
import type { TestServices } from '../alerts/send-alert.js';
import type { LinkSigner } from '../bucket/credentials/keys.js';
import type { ObjectStore } from '../bucket/object-store.js';
import type { ContextBase } from '../control/kernel/context.js';
import type { Propagation } from '../control/kernel/propagation.js';
import type { Surroundings } from '../explain/balancer.js';
import type { HostnameServices } from '../hostnames/context.js';
import type { PoolProbing } from '../monitoring/pool-probing.js';
import type { Activity } from '../observe/activity.js';
import type { SignInServices } from '../sign-in/services.js';
import type { Statistics } from '../statistics/recorder.js';
import { activityRoutes } from './activity/routes.js';
import { alertingRoutes } from './alerting/routes.js';
import { authorityRootRoutes } from './authority-root/routes.js';
import { authorityRoutes } from './certificate-packs/authority-routes.js';
import { packRoutes } from './certificate-packs/routes.js';
import { universalRoutes } from './certificate-packs/universal-routes.js';
import { challengeRoutes } from './challenges/routes.js';
import { clusterRoutes } from './cluster/routes.js';
import type { Cluster } from './cluster/schema.js';
import { hostnameCertificateRoutes } from './custom-hostnames/certificate-routes.js';
import { fallbackRoutes } from './custom-hostnames/fallback-routes.js';
import { hostnameRoutes } from './custom-hostnames/routes.js';
import { dnsAnalyticsRoutes } from './dns-analytics/routes.js';
import { scanRoutes } from './dns-records/scan-routes.js';
import { dnsSettingsRoutes } from './dns-settings/routes.js';
import { templateRoutes } from './dns-templates/routes.js';
import { dnssecKeyRoutes, dnssecRoutes, dnssecSignatureRoutes } from './dnssec/routes.js';
import { dynamicDnsRoutes } from './dynamic-dns/routes.js';
import { eventRoutes } from './events/routes.js';
import type { EventStreams } from './events/streams.js';
import { graphqlRoutes } from './graphql/routes.js';
import { healthRoutes, type Purpose, type Readiness } from './health/routes.js';
import { iamRoutes } from './iam/routes.js';
import { userGroupRoutes } from './iam/user-group-routes.js';
import { ipRoutes } from './ips/routes.js';
import { balancerExplainRoutes } from './load-balancing/explain-routes.js';
import { balancingHealthRoutes } from './load-balancing/health-routes.js';
import { balancingUserRoutes } from './load-balancing/user-routes.js';
import { loadBalancerRoutes } from './load-balancing/zone-routes.js';
import { invitationRoutes } from './members/invitation-routes.js';
import { inviteRoutes } from './memberships/invite-routes.js';
import { metricsRoutes } from './metrics/routes.js';
import { overviewRoutes } from './overview/routes.js';
import type { WarningSource } from './overview/warnings.js';
import { pageRuleRoutes } from './page-rules/routes.js';
import { purgeCacheRoutes } from './purge-cache/routes.js';
import { type ApplicationFacts, bucketApplicationRoutes } from './r2-application/routes.js';
import { absentBucketRoutes } from './r2-buckets/absent-routes.js';
import { bucketKeyRoutes } from './r2-credentials/key-routes.js';
import { credentialRoutes } from './r2-credentials/routes.js';
import { bucketDomainRoutes } from './r2-domains/routes.js';
import { objectBodyRoutes } from './r2-objects/body-routes.js';
import { objectRoutes } from './r2-objects/routes.js';
import { bucketRulesRoutes } from './r2-rules/routes.js';
import type { Readers } from './reading/readers.js';
import { READ_ROUTES } from './reading/routes.js';
import { recordTypeRoutes } from './record-types/routes.js';
import type { AddRoutes } from './routing/route.js';
import { rulesetRoutes } from './rulesets/routes.js';
import { rulesetRuleRoutes } from './rulesets/rule-routes.js';
import { secondaryAccountRoutes } from './secondary-dns/account-routes.js';
import { incomingRoutes } from './secondary-dns/incoming-routes.js';
import { secondaryZoneRoutes } from './secondary-dns/zone-routes.js';
import { permissionRoutes } from './sessions/permission-routes.js';
import { sessionRoutes } from './sessions/routes.js';
import { passkeyRoutes } from './sign-in/passkey-routes.js';
import { passwordRoutes } from './sign-in/password-routes.js';
import { signInRoutes } from './sign-in/routes.js';
import { secondFactorRoutes } from './sign-in/second-routes.js';
import { totpRoutes } from './sign-in/totp-routes.js';
import { connectorRoutes } from './sso/connector-routes.js';
import { providerRoutes } from './sso/provider-routes.js';
import { ssoRoutes } from './sso/routes.js';
import { unsupportedRoutes } from './unsupported/routes.js';
import { zoneAnswerRoutes } from './unsupported/zone-answers.js';
import { userRoutes } from './user/routes.js';
import { zoneChangeRoutes } from './zone-changes/routes.js';
import { zoneFileRoutes } from './zone-files/routes.js';
import { zoneHoldRoutes } from './zone-hold/routes.js';
import { zoneSettingsRoutes } from './zone-settings/routes.js';

/** What routes below the base paths may need. */
export interface RouteParts {
  /** Whether threads read exports. */
  readonly exportApart: Readers['export'] | undefined;
  readonly objects: ObjectStore;
  readonly hostnames: HostnameServices;
  readonly certificates: HostnameServices['certificates'];
  readonly services: { readonly vault: HostnameServices['certificates']['vault'] };
  readonly activity: Activity;
  readonly statistics: Pick<Statistics, 'pendingOf'> | undefined;
  readonly edgeAddresses: readonly Uint8Array[];
  readonly propagation: Propagation | undefined;
  readonly readCluster: (() => Promise<Cluster>) | undefined;
  readonly signIn: SignInServices;
  readonly probing: PoolProbing | undefined;
  readonly surroundings: () => Surroundings;
  readonly warnings: WarningSource;
  readonly application: ApplicationFacts | undefined;
  readonly s3Host: string;
  readonly links: LinkSigner | undefined;
  readonly alerts: TestServices & MailServices;
  readonly events: EventStreams;
}

export const ROUTES: readonly AddRoutes<RouteParts>[] = [
  ...READ_ROUTES,
  zoneFileRoutes,
  recordTypeRoutes,
  scanRoutes,
  templateRoutes,
  dnsSettingsRoutes,
  zoneHoldRoutes,
  dnssecRoutes,
  dnssecKeyRoutes,
  dnssecSignatureRoutes,
  purgeCacheRoutes,
  zoneSettingsRoutes,
  zoneChangeRoutes,
  overviewRoutes,
  clusterRoutes,
  activityRoutes,
  dnsAnalyticsRoutes,
  eventRoutes,
  userRoutes,
  inviteRoutes,
  invitationRoutes,
  iamRoutes,
  userGroupRoutes,
  sessionRoutes,
  permissionRoutes,
  signInRoutes,
  passwordRoutes,
  secondFactorRoutes,
  totpRoutes,
  passkeyRoutes,
  ssoRoutes,
  providerRoutes,
  connectorRoutes,
  ipRoutes,
  bucketDomainRoutes,
  bucketRulesRoutes,
  bucketApplicationRoutes,
  absentBucketRoutes,
  credentialRoutes,
  bucketKeyRoutes,
  objectRoutes,
  objectBodyRoutes,
  fallbackRoutes,
  hostnameRoutes,
  hostnameCertificateRoutes,
  secondaryAccountRoutes,
  secondaryZoneRoutes,
  incomingRoutes,
  loadBalancerRoutes,
  balancerExplainRoutes,
  rulesetRoutes,
  rulesetRuleRoutes,
  pageRuleRoutes,
  balancingUserRoutes,
  balancingHealthRoutes,
  packRoutes,
  authorityRoutes,
  universalRoutes,
  alertingRoutes,
  unsupportedRoutes,
  zoneAnswerRoutes,
  graphqlRoutes,
];

/** What routes beside them may need. */
export interface RootParts {
  readonly base: ContextBase;
  readonly readiness: (purpose?: Purpose) => Readiness;
  /** How many warnings there are by kind; undefined: not known yet. */
  readonly warningCounts?: () => Readonly<Record<string, number>> | undefined;
  /** The text of `/metrics`. */
  readonly metrics: () => Promise<string>;
}

export const ROOT_ROUTES: readonly FastifyPluginAsyncZod<RootParts>[] = [
  healthRoutes,
  metricsRoutes,
  authorityRootRoutes,
  challengeRoutes,
  dynamicDnsRoutes,
];
