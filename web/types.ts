/**
 * The shapes of the API's answers, from the schemas of its routes: a change there that screens do not follow breaks the build.
 */
export type { Account, Quotas } from '../src/api/accounts/schema.js';
export type { Activity, SampledQuery } from '../src/api/activity/schema.js';
export type {
  AlertPolicyShape as AlertPolicy,
  AvailableAlertsShape as AvailableAlerts,
  DeliveryShape as WebhookDelivery,
  WebhookShape as Webhook,
} from '../src/api/alerting/schema.js';
export type { AuditLog } from '../src/api/audit-logs/schema.js';
export type { CertificateAuthority, Pack, PackQuota, UniversalView } from '../src/api/certificate-packs/schema.js';
export type { Cluster } from '../src/api/cluster/schema.js';
export type { CustomHostname, FallbackOrigin } from '../src/api/custom-hostnames/schema.js';
export type { DnsReport, DnsReportByTime } from '../src/api/dns-analytics/schema.js';
export type { DnsRecord } from '../src/api/dns-records/schema.js';
export type { AccountDnsSettings, DnsSettings } from '../src/api/dns-settings/schema.js';
export type { DnsTemplate, TemplateApplication, TemplateZone } from '../src/api/dns-templates/schema.js';
export type { Dnssec, DnssecKey, DnssecStatus } from '../src/api/dnssec/schema.js';
export type { Message, ResultInfo } from '../src/api/envelope.js';
export type { Explanation } from '../src/api/explain/schema.js';
export type { GroupMemberView as GroupMember, UserGroupView as UserGroup } from '../src/api/iam/schema.js';
export type { BalancerExplanation } from '../src/api/load-balancing/explain-schema.js';
export type { BalancingPool, LoadBalancer } from '../src/api/load-balancing/schema.js';
export type {
  InvitationSent,
  MemberPolicyView as MemberPolicy,
  MemberView as Member,
  PermissionGroupView as PermissionGroupOfMembers,
  ResourceGroupView as ResourceGroup,
  RoleView as Role,
} from '../src/api/members/schema.js';
export type { Invite, Membership } from '../src/api/memberships/schema.js';
export type { Overview } from '../src/api/overview/schema.js';
export type { PageRuleShape as PageRule } from '../src/api/page-rules/schema.js';
export type { BucketApplication } from '../src/api/r2-application/schema.js';
export type { Bucket } from '../src/api/r2-buckets/schema.js';
export type { BucketKey, ObjectLink } from '../src/api/r2-credentials/schema.js';
export type { BucketDomain } from '../src/api/r2-domains/schema.js';
export type { BucketObject, ObjectListInfo } from '../src/api/r2-objects/schema.js';
export type { BucketCorsRule, BucketLifecycleRule, BucketLockRule } from '../src/api/r2-rules/schema.js';
export type { RecordType } from '../src/api/record-types/schema.js';
export type {
  ListedRulesetShape as ListedRuleset,
  RuleShape as Rule,
  RulesetShape as Ruleset,
  RuleTrialShape as RuleTrial,
} from '../src/api/rulesets/schema.js';
export type { Diff } from '../src/api/schema.js';
export type { FoundRecords } from '../src/api/search/schema.js';
export type { Catalog, Member as CatalogMember } from '../src/api/secondary-dns/catalog-schema.js';
export type { Consumed, ConsumedMember, RemovedZone } from '../src/api/secondary-dns/consumed-schema.js';
export type {
  Acl,
  AddedSecondary,
  Incoming,
  IncomingStatus,
  Outgoing,
  Peer,
  PeerStatus,
  Tsig,
} from '../src/api/secondary-dns/schema.js';
export type { Permissions, Session } from '../src/api/sessions/schema.js';
export type { Factors, Passkey, SignedIn, Ways } from '../src/api/sign-in/schema.js';
export type { Provider } from '../src/api/sso/schema.js';
export type { CreatedToken, PermissionGroup, Token } from '../src/api/tokens/schema.js';
export type { ZoneChange } from '../src/api/zone-changes/schema.js';
export type { ZoneFileResult } from '../src/api/zone-files/schema.js';
export type { ZoneEdit, ZoneRestore } from '../src/api/zone-history/schema.js';
export type { ZoneHold } from '../src/api/zone-hold/schema.js';
export type { ZoneSetting } from '../src/api/zone-settings/schema.js';
export type { Zone } from '../src/api/zones/schema.js';
