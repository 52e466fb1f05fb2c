CREATE TABLE account_dns_settings (
  account INTEGER PRIMARY KEY REFERENCES accounts (seq) ON DELETE CASCADE,
  enforce_dns_only INTEGER NOT NULL DEFAULT 0 CHECK (enforce_dns_only IN (0, 1)),
  flatten_all_cnames INTEGER NOT NULL DEFAULT 0 CHECK (flatten_all_cnames IN (0, 1)),
  foundation_dns INTEGER NOT NULL DEFAULT 0 CHECK (foundation_dns IN (0, 1)),
  multi_provider INTEGER NOT NULL DEFAULT 0 CHECK (multi_provider IN (0, 1)),
  secondary_overrides INTEGER NOT NULL DEFAULT 0 CHECK (secondary_overrides IN (0, 1)),
  zone_mode TEXT NOT NULL DEFAULT 'standard' CHECK (zone_mode IN ('standard', 'cdn_only', 'dns_only')),
  ns_ttl INTEGER,
  soa_mname TEXT,
  soa_rname TEXT,
  soa_refresh INTEGER,
  soa_retry INTEGER,
  soa_expire INTEGER,
  soa_minimum INTEGER,
  soa_ttl INTEGER
) STRICT;
CREATE TABLE account_quotas (
  account INTEGER NOT NULL REFERENCES accounts (seq) ON DELETE CASCADE,
  kind TEXT NOT NULL,
  most INTEGER NOT NULL,
  PRIMARY KEY (account, kind)
) STRICT, WITHOUT ROWID;
CREATE TABLE account_usage (
  account INTEGER NOT NULL REFERENCES accounts (seq) ON DELETE CASCADE,
  kind TEXT NOT NULL,
  used INTEGER NOT NULL,
  PRIMARY KEY (account, kind)
) STRICT, WITHOUT ROWID;
INSERT INTO "account_usage" VALUES(1,'buckets',1);
INSERT INTO "account_usage" VALUES(1,'hostnames',1);
INSERT INTO "account_usage" VALUES(1,'lists',2);
INSERT INTO "account_usage" VALUES(1,'members',1);
INSERT INTO "account_usage" VALUES(1,'records',2);
INSERT INTO "account_usage" VALUES(1,'zones',1);
INSERT INTO "account_usage" VALUES(2,'members',1);
INSERT INTO "account_usage" VALUES(2,'zones',1);
CREATE TABLE accounts (
  seq INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
  name TEXT NOT NULL,
  type TEXT NOT NULL CHECK (type IN ('standard', 'enterprise')),
  created_at INTEGER NOT NULL
) STRICT;
INSERT INTO "accounts" VALUES(1,X'066122053AC98F184E47ED7AF2A329CD','admin@localhost''s Account','standard',1795648604784896);
INSERT INTO "accounts" VALUES(2,X'066122070EDC85717B4967C726B7073D','Other','standard',1795648635460618);
CREATE TABLE acme_accounts (
  id TEXT PRIMARY KEY,
  directory TEXT NOT NULL UNIQUE,
  private_key BLOB NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE api_keys (
  seq INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
  user INTEGER NOT NULL REFERENCES users (seq) ON DELETE CASCADE,
  account INTEGER REFERENCES accounts (seq) ON DELETE CASCADE,
  kind TEXT NOT NULL CHECK (kind IN ('key', 'token')),
  name TEXT NOT NULL,
  hash BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
  read_only INTEGER NOT NULL DEFAULT 0 CHECK (read_only IN (0, 1)),
  zones TEXT CHECK (zones IS NULL OR json_valid(zones)),
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  revoked_at INTEGER,
  last_used_at INTEGER,
  -- JSON list; NULL: everything its user may do, within account, zones and read_only.
  policies TEXT CHECK (policies IS NULL OR json_valid(policies)),
  -- {"in": [...], "not_in": [...]} of CIDR texts; NULL: from anywhere.
  networks TEXT CHECK (networks IS NULL OR json_valid(networks)),
  not_before INTEGER,
  modified_at INTEGER,
  disabled INTEGER NOT NULL DEFAULT 0 CHECK (disabled IN (0, 1)),
  -- 1: it belongs to its account and outlives the membership of the user who made it.
  account_owned INTEGER NOT NULL DEFAULT 0 CHECK (account_owned IN (0, 1))
) STRICT;
INSERT INTO "api_keys" VALUES(1,X'066122053AFDB1A31DEC5D8F172F2A5A',1,NULL,'key','First administrator',X'9F3A71EE717AF688AA543CC81A926FD48D7F47FC133277F44E9A410DE4220D49',0,NULL,1795648604784896,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,0);
INSERT INTO "api_keys" VALUES(2,X'066122084F95B24BB62D735826C9CB27',1,NULL,'token','ci',X'74FAB39837D0854C14E34EB08A902B6FF553A2D264847BC1AECD7B7D4B282577',0,NULL,1795648656478033,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,0);
CREATE TABLE applied_updates (
  tsig INTEGER NOT NULL REFERENCES tsig_keys (seq) ON DELETE CASCADE,
  mac BLOB NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (tsig, mac)
) STRICT, WITHOUT ROWID;
CREATE TABLE audit (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  at_us INTEGER NOT NULL,
  actor TEXT NOT NULL,
  actor_kind TEXT NOT NULL,
  source TEXT NOT NULL,
  action TEXT NOT NULL,
  zone BLOB,
  object BLOB,
  request_id TEXT NOT NULL,
  before TEXT,
  after TEXT,
  account INTEGER,
  actor_id BLOB,
  address TEXT
) STRICT;
INSERT INTO "audit" VALUES(1,1795648604784896,'operator@localhost','operator','service','account.create',NULL,X'066122053AC98F184E47ED7AF2A329CD','first-start',NULL,'{"name":"admin@localhost''s Account","type":"standard"}',1,NULL,NULL);
INSERT INTO "audit" VALUES(2,1795648604784896,'operator@localhost','operator','service','user.create',NULL,X'066122053AF01DD67ACBE4CB9AE9ED19','first-start',NULL,'{"email":"admin@localhost","superAdministrator":true}',NULL,NULL,NULL);
INSERT INTO "audit" VALUES(3,1795648604784896,'operator@localhost','operator','service','membership.create',NULL,X'066122053AF215A304D860C6E318C0D2','first-start',NULL,'{"user":"admin@localhost","account":"admin@localhost''s Account"}',1,NULL,NULL);
INSERT INTO "audit" VALUES(4,1795648604784896,'operator@localhost','operator','service','key.create',NULL,X'066122053AFDB1A31DEC5D8F172F2A5A','first-start',NULL,'{"kind":"key","name":"First administrator","user":"admin@localhost","accountOwned":false,"readOnly":false,"policies":null,"networks":null,"notBefore":null,"expiresAt":null,"disabled":false}',NULL,NULL,NULL);
INSERT INTO "audit" VALUES(5,1795648604823890,'operator@localhost','operator','cli','zone.create',X'066122053B689BF0A7E439598832973B',X'066122053B689BF0A7E439598832973B','35f4afa0eb57c96eea5c379d49ebd8a2',NULL,'{"id":"066122053b689bf0a7e439598832973b","name":"example.com","asciiName":"example.com","status":"active","paused":false,"type":"full","developmentMode":0,"nameServers":["ns1.zoneplane.test","ns2.zoneplane.test"],"originalNameServers":null,"vanityNameServers":null,"verificationKey":null,"account":{"id":"066122053ac98f184e47ed7af2a329cd","name":"admin@localhost''s Account"},"createdAt":1795648604823890,"modifiedAt":1795648604823890,"activatedAt":1795648604823890,"recordCount":0,"version":1,"soa":{"mname":"ns1.zoneplane.test","rname":"dns.zoneplane.test","serial":1795648604,"refresh":10000,"retry":2400,"expire":604800,"minimum":1800,"ttl":3600},"nameServerMode":"service","proof":{"by":"operator","at":1795648604823890,"lostAt":null,"byDelegation":true,"contested":false,"record":{"name":"_zoneplane-zone.example.com","content":"zoneplane-zone=09ff99df32116a956ede8e2f3eb0e1d4"}}}',1,NULL,NULL);
INSERT INTO "audit" VALUES(6,1795648608024423,'operator@localhost','operator','cli','record.create',X'066122053B689BF0A7E439598832973B',X'066122056C66A08CA66C2216AC6B005A','a5f66b7c5531e2455871390b90931c03',NULL,'{"id":"066122056c66a08ca66c2216ac6b005a","zoneId":"066122053b689bf0a7e439598832973b","zoneName":"example.com","name":"www.example.com","type":"A","content":"192.0.2.1","proxiable":true,"proxied":true,"ttl":1,"settings":{},"comment":null,"tags":[],"createdAt":1795648608024423,"modifiedAt":1795648608024423}',1,NULL,NULL);
INSERT INTO "audit" VALUES(7,1795648610405945,'operator@localhost','operator','cli','record.create',X'066122053B689BF0A7E439598832973B',X'0661220590BE92531D0B082F637B0F6D','dd5be885a161820ca2a0c5bcfbcaa4b0',NULL,'{"id":"0661220590be92531d0b082f637b0f6d","zoneId":"066122053b689bf0a7e439598832973b","zoneName":"example.com","name":"example.com","type":"MX","content":"mail.example.com","priority":10,"proxiable":false,"proxied":false,"ttl":1,"settings":{},"comment":null,"tags":[],"createdAt":1795648610405945,"modifiedAt":1795648610405945}',1,NULL,NULL);
INSERT INTO "audit" VALUES(8,1795648613280533,'operator@localhost','operator','cli','record.create',X'066122053B689BF0A7E439598832973B',X'06612205BCB49FD1F4D252E6A92C82FC','d27a5af5050c5d0f74d07ec2b573263d',NULL,'{"id":"06612205bcb49fd1f4d252e6a92c82fc","zoneId":"066122053b689bf0a7e439598832973b","zoneName":"example.com","name":"mail.example.com","type":"A","content":"192.0.2.2","proxiable":true,"proxied":false,"ttl":1,"settings":{},"comment":null,"tags":[],"createdAt":1795648613280533,"modifiedAt":1795648613280533}',1,NULL,NULL);
INSERT INTO "audit" VALUES(9,1795648615117168,'operator@localhost','operator','cli','dnssec.enable',X'066122053B689BF0A7E439598832973B',X'066122053B689BF0A7E439598832973B','50c3c6a60cb9966390af6a09707e73a9',NULL,'{"algorithm":13}',1,NULL,NULL);
INSERT INTO "audit" VALUES(10,1795648635460618,'operator@localhost','operator','cli','account.create',NULL,X'066122070EDC85717B4967C726B7073D','ab1f331953584f55a0738bdf2531a821',NULL,'{"name":"Other","type":"standard"}',2,NULL,NULL);
INSERT INTO "audit" VALUES(11,1795648635460618,'operator@localhost','operator','cli','user.create',NULL,X'066122070EDFF923998B1CE5E2915A5B','ab1f331953584f55a0738bdf2531a821',NULL,'{"email":"other@example.org","superAdministrator":false}',NULL,NULL,NULL);
INSERT INTO "audit" VALUES(12,1795648635460618,'operator@localhost','operator','cli','membership.create',NULL,X'066122070EE182FCFC3D4E577D5B04FC','ab1f331953584f55a0738bdf2531a821',NULL,'{"user":"other@example.org","account":"Other"}',2,NULL,NULL);
INSERT INTO "audit" VALUES(13,1795648640726345,'operator@localhost','operator','cli','zone.create',X'066122075F8FDDA20463AEBF86A84C42',X'066122075F8FDDA20463AEBF86A84C42','40c45c5490623450576c53a004f0fa6f',NULL,'{"id":"066122075f8fdda20463aebf86a84c42","name":"other.example","asciiName":"other.example","status":"active","paused":false,"type":"full","developmentMode":0,"nameServers":["ns1.zoneplane.test","ns2.zoneplane.test"],"originalNameServers":null,"vanityNameServers":null,"verificationKey":null,"account":{"id":"066122070edc85717b4967c726b7073d","name":"Other"},"createdAt":1795648640726345,"modifiedAt":1795648640726345,"activatedAt":1795648640726345,"recordCount":0,"version":1,"soa":{"mname":"ns1.zoneplane.test","rname":"dns.zoneplane.test","serial":1795648640,"refresh":10000,"retry":2400,"expire":604800,"minimum":1800,"ttl":3600},"nameServerMode":"service","proof":{"by":"operator","at":1795648640726345,"lostAt":null,"byDelegation":true,"contested":false,"record":{"name":"_zoneplane-zone.other.example","content":"zoneplane-zone=1024883cc2d063bca1fbaff77bb22743"}}}',2,NULL,NULL);
INSERT INTO "audit" VALUES(14,1795648643224169,'operator@localhost','operator','cli','bucket.create',NULL,X'066122053AC98F184E47ED7AF2A329CD','183cc391d563805afd82c22d3a665088',NULL,'{"name":"files","jurisdiction":"default","location":null,"storageClass":"Standard"}',NULL,NULL,NULL);
INSERT INTO "audit" VALUES(15,1795648645796065,'operator@localhost','operator','cli','custom_hostname.create',X'066122053B689BF0A7E439598832973B',X'06A126821E6E49DCA585EACB68B841DD','6dc635dba4ac28c8e6071a2e6e56f38e',NULL,'{"hostname":"shop.customer.test","ssl":{"method":"txt","type":"dv","authority":"","wildcard":false,"bundleMethod":"ubiquitous","settings":{}},"custom_metadata":null,"custom_origin_server":null,"custom_origin_sni":null}',1,NULL,NULL);
INSERT INTO "audit" VALUES(16,1795648647541110,'operator@localhost','operator','cli','tsig.create',NULL,X'06612207C765B786A899EB559C06E19F','19226f163897caf5fcde602f6c580cc7',NULL,'{"name":"ns9.transfer.","algo":"hmac-sha256.","policies":[]}',1,NULL,NULL);
INSERT INTO "audit" VALUES(17,1795648647541110,'operator@localhost','operator','cli','transfer_peer.create',NULL,X'06612207C7063CC952ADB1F327BB2464','19226f163897caf5fcde602f6c580cc7',NULL,'{"id":"06612207c7063cc952adb1f327bb2464","name":"ns9","ip":"192.0.2.53","ixfr_enable":true,"port":53,"tsig_id":"06612207c765b786a899eb559c06e19f"}',1,NULL,NULL);
INSERT INTO "audit" VALUES(18,1795648647541110,'operator@localhost','operator','cli','outgoing.create',X'066122053B689BF0A7E439598832973B',X'066122053B689BF0A7E439598832973B','19226f163897caf5fcde602f6c580cc7',NULL,'{"peers":["06612207c7063cc952adb1f327bb2464"],"enabled":true}',1,NULL,NULL);
INSERT INTO "audit" VALUES(19,1795648653890914,'operator@localhost','operator','cli','record.delete',X'066122053B689BF0A7E439598832973B',X'06612205BCB49FD1F4D252E6A92C82FC','6b5502848618eeff9038f326c915e4c2','{"id":"06612205bcb49fd1f4d252e6a92c82fc","zoneId":"066122053b689bf0a7e439598832973b","zoneName":"example.com","name":"mail.example.com","type":"A","content":"192.0.2.2","proxiable":true,"proxied":false,"ttl":1,"settings":{},"comment":null,"tags":[],"createdAt":1795648613280533,"modifiedAt":1795648613280533}',NULL,1,NULL,NULL);
INSERT INTO "audit" VALUES(20,1795648656478033,'operator@localhost','operator','cli','key.create',NULL,X'066122084F95B24BB62D735826C9CB27','1fd4a57713e9e1d609b41ef9fb4941c6',NULL,'{"kind":"token","name":"ci","user":"admin@localhost","accountOwned":false,"readOnly":false,"policies":null,"networks":null,"notBefore":null,"expiresAt":null,"disabled":false}',NULL,NULL,NULL);
CREATE TABLE authority_authorizations (
  seq INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
  order_seq INTEGER NOT NULL REFERENCES authority_orders (seq) ON DELETE CASCADE,
  identifier TEXT NOT NULL,
  wildcard INTEGER NOT NULL CHECK (wildcard IN (0, 1)),
  status TEXT NOT NULL CHECK (status IN ('pending', 'valid', 'invalid'))
) STRICT;
CREATE TABLE authority_certificates (
  -- Hexadecimal digits, as the certificate has it.
  serial TEXT PRIMARY KEY,
  authority TEXT NOT NULL,
  certificate BLOB NOT NULL,
  -- PEM, the certificate itself first.
  chain TEXT NOT NULL,
  not_before INTEGER NOT NULL,
  not_after INTEGER NOT NULL,
  revoked_at INTEGER,
  revocation_reason INTEGER
) STRICT, WITHOUT ROWID;
CREATE TABLE authority_challenges (
  seq INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
  authorization_seq INTEGER NOT NULL REFERENCES authority_authorizations (seq) ON DELETE CASCADE,
  type TEXT NOT NULL CHECK (type IN ('dns-01', 'http-01')),
  token TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('pending', 'valid', 'invalid')),
  problem TEXT CHECK (json_valid(problem))
) STRICT;
CREATE TABLE authority_issuers (
  seq INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
  name TEXT NOT NULL CHECK (name IN ('root', 'google', 'lets_encrypt', 'ssl_com', 'digicert')),
  certificate BLOB NOT NULL,
  private_key BLOB NOT NULL,
  not_after INTEGER NOT NULL
) STRICT;
CREATE TABLE authority_orders (
  seq INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
  authority TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('pending', 'ready', 'valid', 'invalid')),
  names TEXT NOT NULL CHECK (json_valid(names)),
  profile TEXT NOT NULL,
  replaces TEXT,
  expires_at INTEGER NOT NULL,
  certificate TEXT,
  -- When the certificate is to end at the latest; NULL: after the authority's usual lifetime.
  not_after INTEGER
) STRICT;
CREATE TABLE blob_garbage (
  blob TEXT PRIMARY KEY,
  -- When a sweep first found it unused, milliseconds since 1970; another node may be reading it for a while.
  noted_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE TABLE bucket_bindings (
  name TEXT PRIMARY KEY,
  bucket INTEGER NOT NULL REFERENCES buckets (seq) ON DELETE CASCADE,
  bound_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE bucket_domains (
  domain TEXT NOT NULL,
  zone INTEGER NOT NULL REFERENCES zones (seq) ON DELETE CASCADE,
  bucket INTEGER NOT NULL REFERENCES buckets (seq) ON DELETE CASCADE,
  enabled INTEGER NOT NULL CHECK (enabled IN (0, 1)),
  min_tls TEXT CHECK (min_tls IN ('1.0', '1.1', '1.2', '1.3')),
  ciphers TEXT NOT NULL CHECK (json_valid(ciphers)),
  created_at INTEGER NOT NULL,
  PRIMARY KEY (domain, zone)
) STRICT, WITHOUT ROWID;
CREATE TABLE bucket_usage (
  bucket INTEGER NOT NULL REFERENCES buckets (seq) ON DELETE CASCADE,
  storage_class TEXT NOT NULL,
  objects INTEGER NOT NULL,
  payload_size INTEGER NOT NULL,
  metadata_size INTEGER NOT NULL,
  PRIMARY KEY (bucket, storage_class)
) STRICT, WITHOUT ROWID;
CREATE TABLE buckets (
  seq INTEGER PRIMARY KEY,
  account INTEGER NOT NULL REFERENCES accounts (seq),
  jurisdiction TEXT NOT NULL CHECK (jurisdiction IN ('default', 'eu', 'us', 'fedramp', 'fedramp-high')),
  name TEXT NOT NULL,
  location TEXT,
  storage_class TEXT NOT NULL CHECK (storage_class IN ('Standard', 'InfrequentAccess')),
  created_at INTEGER NOT NULL,
  UNIQUE (account, jurisdiction, name)
) STRICT;
INSERT INTO "buckets" VALUES(1,1,'default','files',NULL,'Standard',1795648643224169);
CREATE TABLE catalog_members (
  catalog INTEGER NOT NULL REFERENCES catalogs (seq) ON DELETE CASCADE,
  zone INTEGER NOT NULL REFERENCES zones (seq) ON DELETE CASCADE,
  member_id BLOB NOT NULL CHECK (length(member_id) = 16),
  grp TEXT,
  moved_to INTEGER REFERENCES catalogs (seq) ON DELETE SET NULL,
  moved_at INTEGER,
  PRIMARY KEY (catalog, zone)
) STRICT, WITHOUT ROWID;
CREATE TABLE catalogs (
  seq INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
  account INTEGER NOT NULL REFERENCES accounts (seq),
  zone INTEGER NOT NULL UNIQUE REFERENCES zones (seq) ON DELETE CASCADE,
  members TEXT NOT NULL CHECK (members IN ('all', 'linked')),
  created_at INTEGER NOT NULL,
  modified_at INTEGER NOT NULL
) STRICT;
CREATE TABLE certificate_orders (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  request INTEGER NOT NULL UNIQUE REFERENCES certificate_requests (seq) ON DELETE CASCADE,
  version INTEGER NOT NULL,
  authority TEXT NOT NULL,
  url TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  private_key BLOB,
  csr BLOB
) STRICT;
CREATE TABLE certificate_requests (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  owner_kind TEXT NOT NULL CHECK (owner_kind IN ('hostname', 'zone', 'service')),
  owner TEXT NOT NULL,
  zone INTEGER NOT NULL,
  names TEXT NOT NULL CHECK (json_valid(names)),
  method TEXT NOT NULL CHECK (method IN ('http', 'txt')),
  authority TEXT NOT NULL,
  chosen TEXT NOT NULL DEFAULT '',
  uploaded INTEGER NOT NULL DEFAULT 0 CHECK (uploaded IN (0, 1)),
  status TEXT NOT NULL,
  renewal INTEGER NOT NULL DEFAULT 0 CHECK (renewal IN (0, 1)),
  errors TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(errors)),
  refused TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(refused)),
  failures INTEGER NOT NULL DEFAULT 0,
  version INTEGER NOT NULL DEFAULT 1,
  started_at INTEGER NOT NULL,
  next_at INTEGER,
  renew_at INTEGER,
  dropped_at INTEGER,
  validity_days INTEGER NOT NULL DEFAULT 90 CHECK (validity_days > 0)
) STRICT;
INSERT INTO "certificate_requests" VALUES(1,'8d8032cc-6372-4259-9bf3-8227033ce0bc','hostname','06a12682-1e6e-49dc-a585-eacb68b841dd',1,'["shop.customer.test"]','txt','','',0,'initializing',0,'[]','[]',0,1,1795648645815,1795648645815,NULL,NULL,90);
CREATE TABLE certificates (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  request INTEGER NOT NULL REFERENCES certificate_requests (seq) ON DELETE CASCADE,
  authority TEXT NOT NULL,
  uploaded INTEGER NOT NULL CHECK (uploaded IN (0, 1)),
  names TEXT NOT NULL CHECK (json_valid(names)),
  chain TEXT NOT NULL,
  private_key BLOB NOT NULL,
  issuer TEXT NOT NULL,
  serial TEXT NOT NULL,
  signature TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  not_before INTEGER NOT NULL,
  not_after INTEGER NOT NULL,
  -- 1: it replaced a certificate that was served for the same names.
  renewal INTEGER NOT NULL DEFAULT 0 CHECK (renewal IN (0, 1))
) STRICT;
CREATE TABLE challenge_records (
  zone INTEGER NOT NULL REFERENCES zones (seq) ON DELETE CASCADE,
  owner_key BLOB NOT NULL,
  challenge INTEGER NOT NULL REFERENCES challenges (seq) ON DELETE CASCADE,
  PRIMARY KEY (zone, owner_key, challenge)
) STRICT, WITHOUT ROWID;
CREATE TABLE challenges (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  order_seq INTEGER NOT NULL REFERENCES certificate_orders (seq) ON DELETE CASCADE,
  authorization_url TEXT NOT NULL,
  url TEXT NOT NULL,
  type TEXT NOT NULL CHECK (type IN ('dns-01', 'http-01')),
  identifier TEXT NOT NULL,
  wildcard INTEGER NOT NULL CHECK (wildcard IN (0, 1)),
  token TEXT NOT NULL,
  value TEXT NOT NULL,
  status TEXT NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'submitted', 'valid')),
  UNIQUE (order_seq, url)
) STRICT;
CREATE TABLE change_rrs (
  change INTEGER NOT NULL,
  ord INTEGER NOT NULL,
  op INTEGER NOT NULL CHECK (op IN (0, 1)),
  owner_key BLOB NOT NULL,
  type INTEGER NOT NULL,
  ttl INTEGER NOT NULL,
  rdata BLOB NOT NULL,
  PRIMARY KEY (change, ord)
) STRICT, WITHOUT ROWID;
INSERT INTO "change_rrs" VALUES(2,0,1,X'77777700',1,300,X'C0000202');
INSERT INTO "change_rrs" VALUES(3,0,1,X'',15,300,X'000A046D61696C076578616D706C6503636F6D00');
INSERT INTO "change_rrs" VALUES(4,0,1,X'6D61696C00',1,300,X'C0000202');
INSERT INTO "change_rrs" VALUES(7,0,0,X'6D61696C00',1,300,X'C0000202');
INSERT INTO "change_rrs" VALUES(7,1,0,X'6D61696C00',46,300,X'00010D030000012C6B20C9186B075E57693B076578616D706C6503636F6D00AABED22CD9C981FB25C41ED5130033336C2542E725CC9BA769472D8FABA5E31C97248B5BAEE6BD13140933AC7DDA5716E2D3CD56F16AA0CF494A5B3560A87B63');
INSERT INTO "change_rrs" VALUES(7,2,0,X'6D61696C00',46,1800,X'002F0D03000007086B20C9186B075E57693B076578616D706C6503636F6D00CC9D4FC979ADEB11AF814F8E3AB98A021D65EC09CE9BAABFDFAAC9DF5F06CE5A7F2EA099AB8E7414525F7B06C3B4F1CC88B5C990CC85351DC9B222F204BE8976');
INSERT INTO "change_rrs" VALUES(7,3,0,X'6D61696C00',47,1800,X'03777777076578616D706C6503636F6D000006400000000003');
INSERT INTO "change_rrs" VALUES(7,4,0,X'',46,1800,X'002F0D02000007086B1FE5E16B075E57693B076578616D706C6503636F6D006BDF1FD8A5581299937673F54EFF94F3B1F33DE51604BAD968DF97B2EAAD055FCB38AC8F0768890599A9BC52B0078B25A5A687DE51DE7E0A5E6F95D28C4E499F');
INSERT INTO "change_rrs" VALUES(7,5,0,X'',47,1800,X'046D61696C076578616D706C6503636F6D00000722010000000380');
INSERT INTO "change_rrs" VALUES(7,6,1,X'',46,1800,X'002F0D02000007086B1FE6076B075E7D693B076578616D706C6503636F6D00EDC2AD3E7A80374FB7A570547B2F45C761CD310154BC3A3D0E77B5E732EEEE13801DE56107038D93BC4CBCFF3D872ADB450D69FA6532CA5C244AF36F3D89711E');
INSERT INTO "change_rrs" VALUES(7,7,1,X'',47,1800,X'03777777076578616D706C6503636F6D00000722010000000380');
INSERT INTO "change_rrs" VALUES(7,8,0,X'',46,3600,X'00060D0200000E106B1FE5E16B075E57693B076578616D706C6503636F6D00A7E8AE7ED9A0FFD996D9785F1125EE69E1CAAE6002711BFEC555C1D61CA595BD189BD21EF03AEAE2FDC99693076679D32B98AE21458FFDB35293DBC87EBD5C59');
INSERT INTO "change_rrs" VALUES(7,9,1,X'',46,3600,X'00060D0200000E106B1FE6076B075E7D693B076578616D706C6503636F6D00BF12DA42B579DA2D8E9DEC435BB9ABB7E95044144BE8553D7831EE4DB6698DBE135252E856E42F7ED4E13BFE99C6116424B7887C76769B68725FCD5231E8F2CB');
CREATE TABLE changes (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  at_us INTEGER NOT NULL,
  zone INTEGER NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('zone-added', 'zone-removed', 'zone-replaced', 'rrs', 'settings', 'derived')),
  serial_from INTEGER,
  serial_to INTEGER,
  actor TEXT NOT NULL,
  request_id TEXT NOT NULL,
  -- 1: applied to the zone as it was served, it gives the zone as it is served.
  complete INTEGER NOT NULL DEFAULT 0 CHECK (complete IN (0, 1)),
  -- Rdata and TTL of the SOA before and after; NULL where it stayed, or where there was none.
  soa_from BLOB,
  soa_to BLOB,
  soa_ttl_from INTEGER,
  soa_ttl_to INTEGER
) STRICT;
INSERT INTO "changes" VALUES(1,1795648604823890,1,'zone-added',NULL,1795648604,'operator@localhost','35f4afa0eb57c96eea5c379d49ebd8a2',0,NULL,NULL,NULL,NULL);
INSERT INTO "changes" VALUES(2,1795648608024423,1,'rrs',1795648604,1795648605,'operator@localhost','a5f66b7c5531e2455871390b90931c03',1,X'036E7331097A6F6E65706C616E6504746573740003646E73097A6F6E65706C616E650474657374006B076C5C000027100000096000093A8000000708',X'036E7331097A6F6E65706C616E6504746573740003646E73097A6F6E65706C616E650474657374006B076C5D000027100000096000093A8000000708',3600,3600);
INSERT INTO "changes" VALUES(3,1795648610405945,1,'rrs',1795648605,1795648606,'operator@localhost','dd5be885a161820ca2a0c5bcfbcaa4b0',1,X'036E7331097A6F6E65706C616E6504746573740003646E73097A6F6E65706C616E650474657374006B076C5D000027100000096000093A8000000708',X'036E7331097A6F6E65706C616E6504746573740003646E73097A6F6E65706C616E650474657374006B076C5E000027100000096000093A8000000708',3600,3600);
INSERT INTO "changes" VALUES(4,1795648613280533,1,'rrs',1795648606,1795648607,'operator@localhost','d27a5af5050c5d0f74d07ec2b573263d',1,X'036E7331097A6F6E65706C616E6504746573740003646E73097A6F6E65706C616E650474657374006B076C5E000027100000096000093A8000000708',X'036E7331097A6F6E65706C616E6504746573740003646E73097A6F6E65706C616E650474657374006B076C5F000027100000096000093A8000000708',3600,3600);
INSERT INTO "changes" VALUES(5,1795648615117168,1,'rrs',1795648607,1795648608,'operator@localhost','50c3c6a60cb9966390af6a09707e73a9',0,X'036E7331097A6F6E65706C616E6504746573740003646E73097A6F6E65706C616E650474657374006B076C5F000027100000096000093A8000000708',X'036E7331097A6F6E65706C616E6504746573740003646E73097A6F6E65706C616E650474657374006B076C60000027100000096000093A8000000708',3600,3600);
INSERT INTO "changes" VALUES(6,1795648640726345,2,'zone-added',NULL,1795648640,'operator@localhost','40c45c5490623450576c53a004f0fa6f',0,NULL,NULL,NULL,NULL);
INSERT INTO "changes" VALUES(7,1795648653890914,1,'rrs',1795648608,1795648609,'operator@localhost','6b5502848618eeff9038f326c915e4c2',1,X'036E7331097A6F6E65706C616E6504746573740003646E73097A6F6E65706C616E650474657374006B076C60000027100000096000093A8000000708',X'036E7331097A6F6E65706C616E6504746573740003646E73097A6F6E65706C616E650474657374006B076C61000027100000096000093A8000000708',3600,3600);
CREATE TABLE consumed_catalogs (
  seq INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
  account INTEGER NOT NULL REFERENCES accounts (seq),
  zone INTEGER NOT NULL UNIQUE REFERENCES zones (seq) ON DELETE CASCADE,
  serial INTEGER,
  fault TEXT,
  held INTEGER NOT NULL DEFAULT 0,
  confirmed INTEGER,
  followed_at INTEGER,
  created_at INTEGER NOT NULL,
  modified_at INTEGER NOT NULL
) STRICT;
CREATE TABLE consumed_members (
  catalog INTEGER NOT NULL REFERENCES consumed_catalogs (seq) ON DELETE CASCADE,
  name TEXT NOT NULL,
  member_id TEXT NOT NULL,
  zone INTEGER UNIQUE REFERENCES zones (seq) ON DELETE SET NULL,
  grp TEXT,
  moves_to TEXT,
  problem TEXT,
  PRIMARY KEY (catalog, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE custom_hostnames (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE CHECK (length(id) = 36),
  zone INTEGER NOT NULL REFERENCES zones (seq) ON DELETE CASCADE,
  hostname TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('pending', 'active', 'blocked', 'moved')),
  txt_token TEXT NOT NULL,
  http_token TEXT NOT NULL,
  errors TEXT NOT NULL CHECK (json_valid(errors)),
  ssl TEXT CHECK (json_valid(ssl)),
  metadata TEXT CHECK (json_valid(metadata)),
  origin TEXT,
  origin_sni TEXT,
  check_number INTEGER NOT NULL,
  next_check_ms INTEGER,
  elsewhere_count INTEGER NOT NULL,
  elsewhere_ms INTEGER,
  pointed_at INTEGER,
  activated_at INTEGER,
  activated_by TEXT,
  moved_at INTEGER,
  created_at INTEGER NOT NULL,
  modified_at INTEGER NOT NULL,
  version INTEGER NOT NULL,
  -- The zone here whose records proved it; NULL: it was proven outside.
  proof_zone INTEGER,
  reversed_name TEXT NOT NULL DEFAULT '',
  UNIQUE (zone, hostname)
) STRICT;
INSERT INTO "custom_hostnames" VALUES(1,'06a12682-1e6e-49dc-a585-eacb68b841dd',1,'shop.customer.test','pending','377a0192-e673-4ecc-954b-6ef493211b96','8044528b-0737-4077-a97e-3e986a60f81d','[]','{"method":"txt","type":"dv","authority":"","wildcard":false,"bundleMethod":"ubiquitous","settings":{}}',NULL,NULL,NULL,0,1795648705797,0,NULL,NULL,NULL,NULL,NULL,1795648645796065,1795648645796065,1,NULL,'test.customer.shop.');
CREATE TABLE dnssec_keys (
  seq INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
  zone INTEGER NOT NULL REFERENCES zones (seq) ON DELETE CASCADE,
  role TEXT NOT NULL CHECK (role IN ('ksk', 'zsk', 'csk')),
  algorithm INTEGER NOT NULL,
  tag INTEGER NOT NULL,
  public BLOB NOT NULL,
  sealed BLOB,
  published INTEGER NOT NULL CHECK (published IN (0, 1)),
  signs INTEGER NOT NULL CHECK (signs IN (0, 1)),
  in_cds INTEGER NOT NULL CHECK (in_cds IN (0, 1)),
  state TEXT NOT NULL,
  state_at INTEGER NOT NULL,
  until INTEGER,
  created_at INTEGER NOT NULL,
  -- The private key again, sealed for DNS processes, of a key that signs the records of a zone with compact denial (RFC 9824).
  online BLOB
) STRICT;
INSERT INTO "dnssec_keys" VALUES(1,X'06612205D8EB6B19E5C7DACB50015708',1,'ksk',13,31894,X'0101030DCB510E7027A852A929FF1635540EEC7D370BE2970B1ADA54D99D6A0E61DD5A94869A724D0044874E90346F602FEE93B7AE8EB8640D83A9DA68C196479FB1A3C3',X'012B1A9774188E65E862D60E5F1F565E5C1450AF84E5CF6E3826999349CB3BD8B47D1EA8135669F31A70B61FF5EF5C1D674F9A085AE0871E0D049B0FFD6328A25444BD874DD1815808CFCFA95F2F4F1C7E0D0B336AFE5F88163928FF21C5E3464CB97A64D0947106F43830EAD864B15E50FAC1E8C3E1B43102CA957DFBB94DE7230B35C14374C4DCBFB8D529A94206551DE3F3A83F46F1D604638F481F9D525C9FDD75E62ED5E30B452746A231870F',1,1,0,'published',1795648615117168,NULL,1795648615117168,NULL);
INSERT INTO "dnssec_keys" VALUES(2,X'06612205D8FBDC1A9D4CA3AC24156D47',1,'zsk',13,26939,X'0100030D7597E21866E37D5BAF58406155EAFC84DEA6BA7872FCAAF3265FA484F21AB3ACC35D0BABE453900CCC2EF76CE65B01D61AEBAD5A65980E890226195B91A7E693',X'012B1A9774188E65E84EBED3D5DEBCFF08009ABF92D487E927B796CFAE0A6108B79233A0C517DEA715D2D72C9ECB71C2086055D4D91382273E2ACAE8A16C87118C739588CA0A62A3EE951DF0DBCA4EC6C5DA22D0616224EB2C93FE6FDB4E9475667D4269DDA932A955207EC38E9FB2A47A16C9CE9D98A15C4E88421A4454208B8BEA9CCA9E51242800EFFEE647DD96B807D4A41D5169EBBE7D60FFBE3B5B4C1BC68502899731F9371F1C08FD0BF2E2',1,1,0,'active',1795648615117168,NULL,1795648615117168,NULL);
CREATE TABLE dnssec_parents (
  zone INTEGER PRIMARY KEY REFERENCES zones (seq) ON DELETE CASCADE,
  servers TEXT NOT NULL DEFAULT '[]',
  checked_at INTEGER,
  agreed TEXT,
  since INTEGER,
  ttl INTEGER NOT NULL DEFAULT 86400,
  remove_at INTEGER
) STRICT;
CREATE TABLE dnssec_signals (
  zone INTEGER NOT NULL REFERENCES zones (seq) ON DELETE CASCADE,
  owner_key BLOB NOT NULL,
  type INTEGER NOT NULL,
  rdata BLOB NOT NULL,
  child BLOB NOT NULL,
  PRIMARY KEY (zone, owner_key, type, rdata)
) STRICT, WITHOUT ROWID;
CREATE TABLE dnssec_zones (
  zone INTEGER PRIMARY KEY REFERENCES zones (seq) ON DELETE CASCADE,
  state TEXT NOT NULL CHECK (state IN ('pending', 'active', 'pending-disabled', 'disabled')),
  phase TEXT NOT NULL CHECK (phase IN ('data', 'chain', 'signed', 'unsigning')),
  cursor BLOB,
  walk BLOB,
  walked_at INTEGER,
  denial TEXT NOT NULL CHECK (denial IN ('nsec', 'nsec3', 'compact')),
  next_denial TEXT CHECK (next_denial IN ('nsec', 'nsec3', 'compact')),
  iterations INTEGER NOT NULL DEFAULT 0,
  salt BLOB NOT NULL DEFAULT X'',
  opt_out INTEGER NOT NULL DEFAULT 0 CHECK (opt_out IN (0, 1)),
  delete_form INTEGER NOT NULL DEFAULT 0 CHECK (delete_form IN (0, 1)),
  presigned INTEGER NOT NULL DEFAULT 0 CHECK (presigned IN (0, 1)),
  newest_inception INTEGER NOT NULL DEFAULT 0,
  largest_ttl INTEGER NOT NULL DEFAULT 0,
  ds_seen_at INTEGER,
  modified_at INTEGER NOT NULL,
  -- DNSKEY records of other signers are part of the zone (RFC 8901 §2.1.2).
  multi_signer INTEGER NOT NULL DEFAULT 0 CHECK (multi_signer IN (0, 1)),
  -- The rollover that is under way does not wait for what resolvers remember.
  emergency INTEGER NOT NULL DEFAULT 0 CHECK (emergency IN (0, 1)),
  -- The zone tells of the keys of zones whose name servers have names in it (RFC 9615).
  signals INTEGER NOT NULL DEFAULT 0 CHECK (signals IN (0, 1)),
  -- The set of its signatures and NSEC3 records: a number of record_sets, with no records.
  signature_set INTEGER,
  -- The zone has the DS records that CDS records of zones below it ask for (RFC 7344).
  parental_agent INTEGER NOT NULL DEFAULT 0 CHECK (parental_agent IN (0, 1))
) STRICT;
INSERT INTO "dnssec_zones" VALUES(1,'pending','signed',NULL,NULL,NULL,'nsec',NULL,0,X'',0,0,0,1795645015,86400,NULL,1795648615117168,0,0,0,2,0);
CREATE TABLE edge_changes (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  kind TEXT NOT NULL CHECK (kind IN ('hostname', 'zone', 'certificate')),
  subject TEXT NOT NULL
) STRICT;
INSERT INTO "edge_changes" VALUES(1,'zone','1');
INSERT INTO "edge_changes" VALUES(2,'hostname','shop.customer.test');
CREATE TABLE edited_records (
  edit INTEGER NOT NULL,
  ord INTEGER NOT NULL,
  id BLOB NOT NULL,
  was TEXT,
  PRIMARY KEY (edit, ord)
) STRICT, WITHOUT ROWID;
INSERT INTO "edited_records" VALUES(2,0,X'066122056C66A08CA66C2216AC6B005A',NULL);
INSERT INTO "edited_records" VALUES(3,0,X'0661220590BE92531D0B082F637B0F6D',NULL);
INSERT INTO "edited_records" VALUES(4,0,X'06612205BCB49FD1F4D252E6A92C82FC',NULL);
INSERT INTO "edited_records" VALUES(7,0,X'06612205BCB49FD1F4D252E6A92C82FC','{"id":"06612205bcb49fd1f4d252e6a92c82fc","record_set":1,"owner_key":"6d61696c00","name":"mail.example.com","type":1,"content":"192.0.2.2","rdata":"c0000202","rdata_key":"c0000202","ttl":1,"proxied":0,"settings":null,"comment":null,"tags":null,"private_routing":null,"created_at":1795648613280533,"modified_at":1795648613280533,"comment_modified_at":null,"tags_modified_at":null}');
CREATE TABLE fallback_origins (
  zone INTEGER PRIMARY KEY REFERENCES zones (seq) ON DELETE CASCADE,
  origin TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  modified_at INTEGER NOT NULL
) STRICT;
CREATE TABLE flatten_links (
  name BLOB NOT NULL,
  target BLOB NOT NULL,
  PRIMARY KEY (name, target)
) STRICT, WITHOUT ROWID;
CREATE TABLE flatten_owners (
  zone INTEGER NOT NULL REFERENCES zones (seq) ON DELETE CASCADE,
  owner_key BLOB NOT NULL,
  target BLOB NOT NULL,
  -- 1: the owner answers the target's addresses. 0: it is proxied, and only whether the target leads somewhere is of interest.
  answered INTEGER NOT NULL DEFAULT 1 CHECK (answered IN (0, 1)),
  PRIMARY KEY (zone, owner_key)
) STRICT, WITHOUT ROWID;
CREATE TABLE flatten_targets (
  name BLOB PRIMARY KEY,
  ipv4 BLOB,
  ipv6 BLOB,
  ttl INTEGER NOT NULL DEFAULT 0,
  asked INTEGER NOT NULL DEFAULT 0 CHECK (asked IN (0, 1)),
  stale INTEGER NOT NULL DEFAULT 0 CHECK (stale IN (0, 1)),
  own INTEGER NOT NULL DEFAULT 0 CHECK (own IN (0, 1)),
  failures INTEGER NOT NULL DEFAULT 0,
  resolved_at INTEGER NOT NULL DEFAULT 0,
  expires_at INTEGER NOT NULL DEFAULT 0,
  refresh_at INTEGER NOT NULL DEFAULT 0,
  chain TEXT,
  reason TEXT
) STRICT;
CREATE TABLE hostname_allowances (
  account INTEGER PRIMARY KEY REFERENCES accounts (seq) ON DELETE CASCADE,
  issuance_count INTEGER,
  issuance_window_s INTEGER,
  issuance_lockout_s INTEGER,
  apex_addresses INTEGER NOT NULL CHECK (apex_addresses IN (0, 1))
) STRICT;
CREATE TABLE issuance_events (
  seq INTEGER PRIMARY KEY,
  account INTEGER NOT NULL REFERENCES accounts (seq) ON DELETE CASCADE,
  at_ms INTEGER NOT NULL
) STRICT;
INSERT INTO "issuance_events" VALUES(1,1,1795648645797);
CREATE TABLE issuance_lockouts (
  account INTEGER PRIMARY KEY REFERENCES accounts (seq) ON DELETE CASCADE,
  until_ms INTEGER NOT NULL
) STRICT;
CREATE TABLE jobs (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  kind TEXT NOT NULL,
  subject TEXT NOT NULL,
  run_at INTEGER NOT NULL,
  set_at INTEGER NOT NULL,
  wanted_at INTEGER,
  attempt INTEGER NOT NULL DEFAULT 0,
  last_error TEXT,
  failed_at INTEGER,
  lease_owner TEXT,
  lease_until INTEGER,
  fence INTEGER NOT NULL DEFAULT 0,
  -- Store number of the account whose turn it takes; 0: the installation itself.
  account INTEGER NOT NULL DEFAULT 0,
  UNIQUE (kind, subject),
  CHECK ((lease_owner IS NULL) = (lease_until IS NULL))
) STRICT;
INSERT INTO "jobs" VALUES(1,'zone_certificate','066122053b689bf0a7e439598832973b',1795648608067,1795648608067,NULL,0,NULL,NULL,NULL,NULL,0,1);
INSERT INTO "jobs" VALUES(2,'dnssec','066122053b689bf0a7e439598832973b',1795648615153,1795648615153,NULL,0,NULL,NULL,NULL,NULL,0,1);
INSERT INTO "jobs" VALUES(3,'dnssec-parent','066122053b689bf0a7e439598832973b',1795648615154,1795648615154,NULL,0,NULL,NULL,NULL,NULL,0,1);
INSERT INTO "jobs" VALUES(4,'hostname','06a12682-1e6e-49dc-a585-eacb68b841dd',1795648645915,1795648645915,NULL,0,NULL,NULL,NULL,NULL,0,1);
INSERT INTO "jobs" VALUES(5,'certificate','hostname:06a12682-1e6e-49dc-a585-eacb68b841dd',1795648645815,1795648645815,NULL,0,NULL,NULL,NULL,NULL,0,1);
CREATE TABLE login_links (
  seq INTEGER PRIMARY KEY,
  hash BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
  credential INTEGER NOT NULL REFERENCES api_keys (seq) ON DELETE CASCADE,
  credential_hash BLOB NOT NULL CHECK (length(credential_hash) = 32),
  expires_at INTEGER NOT NULL
) STRICT;
CREATE TABLE memberships (
  seq INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
  user INTEGER NOT NULL REFERENCES users (seq) ON DELETE CASCADE,
  account INTEGER NOT NULL REFERENCES accounts (seq) ON DELETE CASCADE,
  created_at INTEGER NOT NULL,
  UNIQUE (user, account)
) STRICT;
INSERT INTO "memberships" VALUES(1,X'066122053AF215A304D860C6E318C0D2',1,1,1795648604784896);
INSERT INTO "memberships" VALUES(2,X'066122070EE182FCFC3D4E577D5B04FC',2,2,1795648635460618);
CREATE TABLE meta (
  name TEXT PRIMARY KEY,
  value ANY NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO "meta" VALUES('created_at',1.79564860470795200006e+15);
INSERT INTO "meta" VALUES('credential_pepper',X'711C71ECC0BB22F6EC6118E00E600BCC541BC531AC5EBB715C547FD3BA660E5A');
INSERT INTO "meta" VALUES('edited_records',4.0);
INSERT INTO "meta" VALUES('history_from',0);
INSERT INTO "meta" VALUES('installation','36e5b9d6-aa46-495e-b420-9f67d8c2a784');
INSERT INTO "meta" VALUES('tsig_version',1);
INSERT INTO "meta" VALUES('vault_check',X'012B1A9774188E65E89B37F2C70A9C6F1265236A071A38262CA5F12A725A86F5DB70C8C3CDAE68567B396489AC7F');
CREATE TABLE nsec3 (
  signature_set INTEGER NOT NULL,
  hash BLOB NOT NULL CHECK (length(hash) = 20),
  owner_key BLOB NOT NULL,
  first_expiry INTEGER,
  octets BLOB NOT NULL,
  PRIMARY KEY (signature_set, hash)
) STRICT, WITHOUT ROWID;
CREATE TABLE object_contents (
  object INTEGER PRIMARY KEY REFERENCES objects (seq) ON DELETE CASCADE,
  octets BLOB NOT NULL
) STRICT;
CREATE TABLE objects (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  bucket INTEGER NOT NULL REFERENCES buckets (seq),
  key TEXT NOT NULL,
  version TEXT NOT NULL,
  size INTEGER NOT NULL,
  md5 BLOB NOT NULL CHECK (length(md5) = 16),
  storage_class TEXT NOT NULL CHECK (storage_class IN ('Standard', 'InfrequentAccess')),
  http_metadata TEXT NOT NULL CHECK (json_valid(http_metadata)),
  custom_metadata TEXT NOT NULL CHECK (json_valid(custom_metadata)),
  metadata_size INTEGER NOT NULL,
  uploaded_at INTEGER NOT NULL,
  blob TEXT UNIQUE,
  UNIQUE (bucket, key)
) STRICT;
CREATE TABLE purges (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  at_us INTEGER NOT NULL,
  zone INTEGER NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('purge_everything', 'files', 'tags', 'hosts', 'prefixes')),
  items TEXT NOT NULL CHECK (json_valid(items))
) STRICT;
CREATE TABLE record_rows (
  seq INTEGER PRIMARY KEY,
  id BLOB NOT NULL,
  record_set INTEGER NOT NULL,
  owner_key BLOB NOT NULL,
  name TEXT NOT NULL,
  type INTEGER NOT NULL,
  content TEXT NOT NULL,
  rdata BLOB NOT NULL,
  rdata_key BLOB NOT NULL,
  ttl INTEGER NOT NULL,
  proxied INTEGER NOT NULL,
  settings TEXT,
  comment TEXT,
  tags TEXT,
  private_routing INTEGER,
  created_at INTEGER NOT NULL,
  modified_at INTEGER NOT NULL,
  comment_modified_at INTEGER,
  tags_modified_at INTEGER
) STRICT;
INSERT INTO "record_rows" VALUES(1,X'066122056C66A08CA66C2216AC6B005A',1,X'77777700','www.example.com',1,'192.0.2.1',X'C0000201',X'C0000201',1,1,NULL,NULL,NULL,NULL,1795648608024423,1795648608024423,NULL,NULL);
INSERT INTO "record_rows" VALUES(2,X'0661220590BE92531D0B082F637B0F6D',1,X'','example.com',15,'mail.example.com',X'000A046D61696C076578616D706C6503636F6D00',X'000A046D61696C076578616D706C6503636F6D00',1,0,NULL,NULL,NULL,NULL,1795648610405945,1795648610405945,NULL,NULL);
CREATE TABLE record_sets (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  state TEXT NOT NULL CHECK (state IN ('staged', 'used', 'unused')),
  written_at INTEGER NOT NULL
) STRICT;
INSERT INTO "record_sets" VALUES(1,'used',1795648604823890);
INSERT INTO "record_sets" VALUES(2,'used',1795648615117168);
INSERT INTO "record_sets" VALUES(3,'used',1795648640726345);
CREATE TABLE removed_zones (
  zone INTEGER PRIMARY KEY REFERENCES zones (seq) ON DELETE CASCADE,
  catalog INTEGER REFERENCES consumed_catalogs (seq) ON DELETE SET NULL,
  catalog_name TEXT NOT NULL,
  member_id TEXT NOT NULL,
  removed_at INTEGER NOT NULL,
  kept_until INTEGER NOT NULL
) STRICT;
CREATE TABLE scan_records (
  scan INTEGER NOT NULL REFERENCES scans (seq) ON DELETE CASCADE,
  -- By which it is accepted or rejected; identifiers grow with time.
  id BLOB NOT NULL CHECK (length(id) = 16),
  -- The record as a client sees it.
  item TEXT NOT NULL CHECK (json_valid(item)),
  PRIMARY KEY (scan, id)
) STRICT, WITHOUT ROWID;
CREATE TABLE scans (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  zone INTEGER NOT NULL REFERENCES zones (seq) ON DELETE CASCADE,
  -- 1: what it finds waits for a review; 0: what it finds is added at once.
  reviewed INTEGER NOT NULL CHECK (reviewed IN (0, 1)),
  began_at INTEGER NOT NULL,
  ended INTEGER NOT NULL DEFAULT 0 CHECK (ended IN (0, 1))
) STRICT;
CREATE TABLE sessions (
  seq INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
  hash BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
  credential INTEGER NOT NULL REFERENCES api_keys (seq) ON DELETE CASCADE,
  -- The hash that the credential had then: a session ends when its credential gets another secret.
  credential_hash BLOB NOT NULL CHECK (length(credential_hash) = 32),
  address TEXT NOT NULL,
  user_agent TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  last_used_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT;
CREATE TABLE signatures (
  signature_set INTEGER NOT NULL,
  owner_key BLOB NOT NULL,
  first_expiry INTEGER,
  octets BLOB NOT NULL,
  PRIMARY KEY (signature_set, owner_key)
) STRICT, WITHOUT ROWID;
INSERT INTO "signatures" VALUES(2,X'',1797252577,X'0000020008583AFEB6D56201005F00020D02000151806B1FE5E16B075E57693B076578616D706C6503636F6D000F27C98FD64BD8048A771F2B72123D55A7E9D598DE8EA85F2D7ED959942985DDC6AE5397BB43C15537D2B0E1647D310EB497268085A3F78A992713C289FE85770006001CD45664774A1701005F00060D0200000E106B1FE6076B075E7D693B076578616D706C6503636F6D00BF12DA42B579DA2D8E9DEC435BB9ABB7E95044144BE8553D7831EE4DB6698DBE135252E856E42F7ED4E13BFE99C6116424B7887C76769B68725FCD5231E8F2CB000F0006AF95EE54275301005F000F0D020000012C6B1FE5E16B075E57693B076578616D706C6503636F6D00899B954CFF1917EDB13695522D07CDDC5A67CB904F92F7EE0CF9FF4F18E55D2B5D775BB445B5D82C6F1EE978CD087B6329AD761F5A2875DED8AAA4D1B6BBF4DB002F001A8766B9594E540100000708001A03777777076578616D706C6503636F6D00000722010000000380005F002F0D02000007086B1FE6076B075E7D693B076578616D706C6503636F6D00EDC2AD3E7A80374FB7A570547B2F45C761CD310154BC3A3D0E77B5E732EEEE13801DE56107038D93BC4CBCFF3D872ADB450D69FA6532CA5C244AF36F3D89711E003000054379449F183301005F00300D0200000E106B1FE5E16B075E577C96076578616D706C6503636F6D00809A2DB482490B3530501980A8E0500B79F31EE3996522B59C6305F5584C4126F3D0B27583BCB783D366C3D74BF97364A3E82AC45BB39C8F0D7D774FA049786D');
INSERT INTO "signatures" VALUES(2,X'77777700',1797406564,X'0000010002D46329C0396C01005F00010D030000012C6B223F646B075E57693B076578616D706C6503636F6D0081B28BC0E24087D98F9B0E13157581B504E20871135E029523CCD339E9E1BC3F4A497D6BAB3798F8E556093C198B59059DA4E66839DF6F971EE98DF3E8C32C14002F000706FA6124522401000007080015076578616D706C6503636F6D000006400000000003005F002F0D03000007086B223F646B075E57693B076578616D706C6503636F6D007482E24F6868BF4F4DC1FE213C25119A3C3612D8896622A3B211A7B3430D31126B4E6A55D5181E16264742484656DC12AA22F1872D3710A66963AB9DB11DB745');
CREATE TABLE ticket_secrets (
  number INTEGER PRIMARY KEY,
  secret BLOB NOT NULL,
  made_at INTEGER NOT NULL
) STRICT;
CREATE TABLE transfer_acls (
  seq INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
  account INTEGER NOT NULL REFERENCES accounts (seq),
  name TEXT NOT NULL,
  ip_range TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  modified_at INTEGER NOT NULL
) STRICT;
CREATE TABLE transfer_peers (
  seq INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
  account INTEGER NOT NULL REFERENCES accounts (seq),
  name TEXT NOT NULL,
  ip TEXT,
  port INTEGER NOT NULL CHECK (port BETWEEN 1 AND 65535),
  ixfr_enable INTEGER NOT NULL CHECK (ixfr_enable IN (0, 1)),
  tsig INTEGER REFERENCES tsig_keys (seq),
  created_at INTEGER NOT NULL,
  modified_at INTEGER NOT NULL,
  -- For transfers over TLS (RFC 9103): the name in the primary's certificate, and the SHA-256 hash of its public key.
  tls_name TEXT,
  tls_pin BLOB CHECK (length(tls_pin) = 32),
  -- The operator named the address, which may then be a private one.
  by_operator INTEGER NOT NULL DEFAULT 0 CHECK (by_operator IN (0, 1))
) STRICT;
INSERT INTO "transfer_peers" VALUES(1,X'06612207C7063CC952ADB1F327BB2464',1,'ns9','192.0.2.53',53,1,1,1795648647541110,1795648647541110,NULL,NULL,1);
CREATE TABLE tsig_keys (
  seq INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
  account INTEGER NOT NULL REFERENCES accounts (seq),
  name TEXT NOT NULL,
  key_name BLOB NOT NULL,
  algorithm TEXT NOT NULL,
  secret BLOB NOT NULL,
  created_at INTEGER NOT NULL,
  modified_at INTEGER NOT NULL,
  -- JSON list of what dynamic updates with the key may change; NULL: nothing.
  policies TEXT,
  UNIQUE (account, key_name)
) STRICT;
INSERT INTO "tsig_keys" VALUES(1,X'06612207C765B786A899EB559C06E19F',1,'ns9.transfer.',X'036E7339087472616E7366657200','hmac-sha256.',X'012B1A9774188E65E832359B0FD48A85AF78B9C28472678D77CC4FF98AC6D7EA86462C90D4A036A25EEA6EE4930D852E2DB4C16DC6D739DE82DDD293198695A39C547032D5',1795648647541110,1795648647541110,NULL);
CREATE TABLE users (
  seq INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
  email TEXT NOT NULL COLLATE NOCASE UNIQUE,
  first_name TEXT,
  last_name TEXT,
  super_administrator INTEGER NOT NULL CHECK (super_administrator IN (0, 1)),
  created_at INTEGER NOT NULL,
  modified_at INTEGER NOT NULL
) STRICT;
INSERT INTO "users" VALUES(1,X'066122053AF01DD67ACBE4CB9AE9ED19','admin@localhost',NULL,NULL,1,1795648604784896,1795648604784896);
INSERT INTO "users" VALUES(2,X'066122070EDFF923998B1CE5E2915A5B','other@example.org',NULL,NULL,0,1795648635460618,1795648635460618);
CREATE TABLE zone_edits (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  zone INTEGER NOT NULL,
  version INTEGER NOT NULL,
  at_us INTEGER NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('added', 'records', 'settings', 'replaced')),
  complete INTEGER NOT NULL CHECK (complete IN (0, 1)),
  change INTEGER,
  serial_from INTEGER,
  serial_to INTEGER NOT NULL,
  actor TEXT NOT NULL,
  actor_kind TEXT NOT NULL,
  source TEXT NOT NULL,
  request_id TEXT NOT NULL,
  records_total INTEGER NOT NULL,
  -- What the edit meant for the zone as a whole.
  event TEXT CHECK (event IN ('served', 'withdrawn', 'signing', 'signed', 'unsigned'))
) STRICT;
INSERT INTO "zone_edits" VALUES(1,1,2,1795648604823890,'added',1,1,NULL,1795648604,'operator@localhost','operator','cli','35f4afa0eb57c96eea5c379d49ebd8a2',0,NULL);
INSERT INTO "zone_edits" VALUES(2,1,3,1795648608024423,'records',1,2,1795648604,1795648605,'operator@localhost','operator','cli','a5f66b7c5531e2455871390b90931c03',1,NULL);
INSERT INTO "zone_edits" VALUES(3,1,4,1795648610405945,'records',1,3,1795648605,1795648606,'operator@localhost','operator','cli','dd5be885a161820ca2a0c5bcfbcaa4b0',2,NULL);
INSERT INTO "zone_edits" VALUES(4,1,5,1795648613280533,'records',1,4,1795648606,1795648607,'operator@localhost','operator','cli','d27a5af5050c5d0f74d07ec2b573263d',3,NULL);
INSERT INTO "zone_edits" VALUES(5,1,6,1795648615117168,'settings',1,5,1795648607,1795648608,'operator@localhost','operator','cli','50c3c6a60cb9966390af6a09707e73a9',3,'signed');
INSERT INTO "zone_edits" VALUES(6,2,2,1795648640726345,'added',1,6,NULL,1795648640,'operator@localhost','operator','cli','40c45c5490623450576c53a004f0fa6f',3,NULL);
INSERT INTO "zone_edits" VALUES(7,1,7,1795648653890914,'records',1,7,1795648608,1795648609,'operator@localhost','operator','cli','6b5502848618eeff9038f326c915e4c2',4,NULL);
CREATE TABLE zone_incoming (
  zone INTEGER PRIMARY KEY REFERENCES zones (seq) ON DELETE CASCADE,
  name TEXT NOT NULL,
  refresh INTEGER,
  serial INTEGER,
  forced INTEGER NOT NULL DEFAULT 0 CHECK (forced IN (0, 1)),
  failures INTEGER NOT NULL DEFAULT 0,
  checked_at INTEGER,
  transferred_at INTEGER,
  expires_at INTEGER,
  next_at INTEGER,
  error TEXT,
  notice TEXT,
  created_at INTEGER NOT NULL,
  modified_at INTEGER NOT NULL
) STRICT;
CREATE TABLE zone_outgoing (
  zone INTEGER PRIMARY KEY REFERENCES zones (seq) ON DELETE CASCADE,
  name TEXT NOT NULL,
  enabled INTEGER NOT NULL CHECK (enabled IN (0, 1)),
  history_after INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  modified_at INTEGER NOT NULL,
  checked_at INTEGER,
  transferred_at INTEGER
) STRICT;
INSERT INTO "zone_outgoing" VALUES(1,'example.com',1,6,1795648647541110,1795648647541110,NULL,NULL);
CREATE TABLE zone_peers (
  zone INTEGER NOT NULL REFERENCES zone_outgoing (zone) ON DELETE CASCADE,
  peer INTEGER NOT NULL REFERENCES transfer_peers (seq),
  ord INTEGER NOT NULL,
  serial INTEGER,
  seen_at INTEGER,
  error TEXT,
  PRIMARY KEY (zone, peer)
) STRICT, WITHOUT ROWID;
INSERT INTO "zone_peers" VALUES(1,1,0,NULL,NULL,NULL);
CREATE TABLE zone_primaries (
  zone INTEGER NOT NULL REFERENCES zone_incoming (zone) ON DELETE CASCADE,
  peer INTEGER NOT NULL REFERENCES transfer_peers (seq),
  ord INTEGER NOT NULL,
  serial INTEGER,
  seen_at INTEGER,
  error TEXT,
  PRIMARY KEY (zone, peer)
) STRICT, WITHOUT ROWID;
CREATE TABLE zone_settings (
  zone INTEGER NOT NULL REFERENCES zones (seq) ON DELETE CASCADE,
  name TEXT NOT NULL,
  value TEXT NOT NULL CHECK (json_valid(value)),
  modified_at INTEGER NOT NULL,
  PRIMARY KEY (zone, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE zones (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
  account INTEGER NOT NULL REFERENCES accounts (seq),
  name TEXT NOT NULL,
  apex BLOB NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('initializing', 'pending', 'active', 'moved')),
  -- A name is answered from one zone only, however many accounts wait for it.
  served INTEGER NOT NULL CHECK (served IN (0, 1)),
  paused INTEGER NOT NULL DEFAULT 0 CHECK (paused IN (0, 1)),
  type TEXT NOT NULL CHECK (type IN ('full', 'partial', 'secondary', 'internal')),
  serial INTEGER NOT NULL CHECK (serial BETWEEN 0 AND 4294967295),
  soa_mname TEXT,
  soa_rname TEXT,
  soa_refresh INTEGER,
  soa_retry INTEGER,
  soa_expire INTEGER,
  soa_minimum INTEGER,
  soa_ttl INTEGER,
  ns_ttl INTEGER,
  name_server_mode TEXT NOT NULL DEFAULT 'service' CHECK (name_server_mode IN ('service', 'records')),
  multi_provider INTEGER NOT NULL DEFAULT 0 CHECK (multi_provider IN (0, 1)),
  flatten_all_cnames INTEGER NOT NULL DEFAULT 0 CHECK (flatten_all_cnames IN (0, 1)),
  foundation_dns INTEGER NOT NULL DEFAULT 0 CHECK (foundation_dns IN (0, 1)),
  secondary_overrides INTEGER NOT NULL DEFAULT 0 CHECK (secondary_overrides IN (0, 1)),
  zone_mode TEXT NOT NULL DEFAULT 'standard' CHECK (zone_mode IN ('standard', 'cdn_only', 'dns_only')),
  multi_signer INTEGER NOT NULL DEFAULT 0 CHECK (multi_signer IN (0, 1)),
  http2 INTEGER NOT NULL DEFAULT 1 CHECK (http2 IN (0, 1)),
  http2_modified_at INTEGER,
  http3 INTEGER NOT NULL DEFAULT 1 CHECK (http3 IN (0, 1)),
  http3_modified_at INTEGER,
  vanity_name_servers TEXT CHECK (vanity_name_servers IS NULL OR json_valid(vanity_name_servers)),
  original_name_servers TEXT CHECK (original_name_servers IS NULL OR json_valid(original_name_servers)),
  verification_key TEXT,
  hold_after INTEGER,
  hold_include_subdomains INTEGER NOT NULL DEFAULT 0 CHECK (hold_include_subdomains IN (0, 1)),
  record_count INTEGER NOT NULL DEFAULT 0,
  version INTEGER NOT NULL DEFAULT 1,
  created_at INTEGER NOT NULL,
  modified_at INTEGER NOT NULL,
  activated_at INTEGER,
  -- Whether it ever had a hold.
  hold_set INTEGER NOT NULL DEFAULT 0 CHECK (hold_set IN (0, 1)),
  universal_certificate INTEGER NOT NULL DEFAULT 1 CHECK (universal_certificate IN (0, 1)),
  universal_authority TEXT NOT NULL DEFAULT '',
  unique_targets INTEGER NOT NULL DEFAULT 0 CHECK (unique_targets IN (0, 1)),
  unique_targets_modified_at INTEGER,
  -- JSON list of the names that certificates of the zone cover: only they have HTTPS records.
  certified_names TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(certified_names)),
  -- 1: served with signatures. 2: has a row in dnssec_zones, but is served without signatures.
  signed INTEGER NOT NULL DEFAULT 0 CHECK (signed IN (0, 1, 2)),
  -- A copy of enforce_dns_only of the account, so that the row says how the zone is answered.
  account_dns_only INTEGER NOT NULL DEFAULT 0 CHECK (account_dns_only IN (0, 1)),
  -- The set of its records; an import or a restoration switches to another one.
  record_set INTEGER REFERENCES record_sets (number),
  -- The copy of a secondary zone may not be served: there is none yet, or no primary was reached for too long.
  expired INTEGER NOT NULL DEFAULT 0 CHECK (expired IN (0, 1)),
  -- What proved that the name is the account's. 'trust': nothing did, but the installation trusts who comes first.
  proven_by TEXT CHECK (proven_by IN ('operator', 'delegation', 'txt', 'trust')),
  proven_at INTEGER,
  -- Since when a proof that was found before is no longer found.
  proof_lost_at INTEGER,
  -- JSON list: those of the installation to which the zone is to be delegated. NULL: all of them.
  name_servers TEXT,
  -- The labels in reverse, each followed by a dot, to find the names below a name: example.com is com.example.
  reversed_name TEXT NOT NULL DEFAULT '',
  -- The newest edit that is no longer kept; NULL: none is missing since 'history_from' in meta.
  history_from INTEGER,
  UNIQUE (name, account)
) STRICT;
INSERT INTO "zones" VALUES(1,X'066122053B689BF0A7E439598832973B',1,'example.com',X'076578616D706C6503636F6D00','active',1,0,'full',1795648609,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'service',0,0,0,0,'standard',0,1,NULL,1,NULL,NULL,NULL,NULL,NULL,0,2,7,1795648604823890,1795648615117168,1795648604823890,0,1,'',0,NULL,'[]',1,0,1,0,'operator',1795648604823890,NULL,NULL,'com.example.',NULL);
INSERT INTO "zones" VALUES(2,X'066122075F8FDDA20463AEBF86A84C42',2,'other.example',X'056F74686572076578616D706C6500','active',1,0,'full',1795648640,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'service',0,0,0,0,'standard',0,1,NULL,1,NULL,NULL,NULL,NULL,NULL,0,0,2,1795648640726345,1795648640726345,1795648640726345,0,1,'',0,NULL,'[]',0,0,3,0,'operator',1795648640726345,NULL,NULL,'example.other.',NULL);
CREATE INDEX api_keys_account ON api_keys (account) WHERE account_owned = 1;
CREATE INDEX sessions_credential ON sessions (credential);
CREATE INDEX login_links_credential ON login_links (credential);
CREATE UNIQUE INDEX zones_served ON zones (name) WHERE served = 1;
CREATE INDEX zones_account ON zones (account);
CREATE INDEX zones_list ON zones (name, id, type, account, status);
CREATE UNIQUE INDEX zones_record_set ON zones (record_set);
CREATE INDEX zones_by_reversed_name ON zones (reversed_name, account);
CREATE INDEX records_id ON record_rows (id);
CREATE UNIQUE INDEX records_owner ON record_rows (record_set, owner_key, type, rdata_key);
CREATE INDEX records_cname ON record_rows (record_set, owner_key) WHERE type = 5;
CREATE INDEX records_data ON record_rows (record_set, type, rdata_key);
CREATE INDEX records_proxied ON record_rows (record_set) WHERE proxied = 1;
CREATE VIEW records AS SELECT r.seq, r.id, z.seq AS zone, r.owner_key, r.name, r.type, r.content, r.rdata, r.rdata_key,
  r.ttl, r.proxied, r.settings, r.comment, r.tags, r.private_routing, r.created_at, r.modified_at,
  r.comment_modified_at, r.tags_modified_at
  FROM record_rows r JOIN zones z ON z.record_set = r.record_set;
CREATE INDEX flatten_owners_target ON flatten_owners (target);
CREATE INDEX flatten_targets_due ON flatten_targets (refresh_at);
CREATE INDEX flatten_links_target ON flatten_links (target);
CREATE INDEX changes_zone ON changes (zone, seq);
CREATE INDEX zone_edits_zone ON zone_edits (zone, seq);
CREATE INDEX zone_edits_change ON zone_edits (change) WHERE change IS NOT NULL;
CREATE INDEX audit_zone ON audit (zone, seq);
CREATE INDEX audit_account ON audit (account, seq);
CREATE INDEX dnssec_keys_of_zone ON dnssec_keys (zone, seq);
CREATE INDEX dnssec_signals_by_child ON dnssec_signals (child);
CREATE INDEX signatures_by_expiry ON signatures (signature_set, first_expiry);
CREATE INDEX nsec3_by_expiry ON nsec3 (signature_set, first_expiry);
CREATE INDEX transfer_acls_account ON transfer_acls (account);
CREATE INDEX transfer_peers_account ON transfer_peers (account);
CREATE INDEX transfer_peers_tsig ON transfer_peers (tsig);
CREATE INDEX zone_outgoing_modified ON zone_outgoing (modified_at);
CREATE INDEX zone_peers_peer ON zone_peers (peer);
CREATE INDEX zone_incoming_checked ON zone_incoming (checked_at);
CREATE INDEX zone_primaries_peer ON zone_primaries (peer);
CREATE INDEX applied_updates_expiry ON applied_updates (expires_at);
CREATE INDEX catalogs_account ON catalogs (account);
CREATE INDEX catalog_members_zone ON catalog_members (zone);
CREATE INDEX catalog_members_moved_to ON catalog_members (moved_to) WHERE moved_to IS NOT NULL;
CREATE INDEX consumed_catalogs_account ON consumed_catalogs (account);
CREATE INDEX removed_zones_catalog ON removed_zones (catalog);
CREATE TRIGGER tsig_key_added AFTER INSERT ON tsig_keys
BEGIN INSERT INTO meta (name, value) VALUES ('tsig_version', 1) ON CONFLICT (name) DO UPDATE SET value = value + 1; END;
CREATE TRIGGER tsig_key_changed AFTER UPDATE OF key_name, algorithm ON tsig_keys
BEGIN INSERT INTO meta (name, value) VALUES ('tsig_version', 1) ON CONFLICT (name) DO UPDATE SET value = value + 1; END;
CREATE TRIGGER tsig_key_gone AFTER DELETE ON tsig_keys
BEGIN INSERT INTO meta (name, value) VALUES ('tsig_version', 1) ON CONFLICT (name) DO UPDATE SET value = value + 1; END;
CREATE TRIGGER zone_incoming_added AFTER INSERT ON zone_incoming
BEGIN INSERT INTO meta (name, value) VALUES ('incoming_version', 1) ON CONFLICT (name) DO UPDATE SET value = value + 1; END;
CREATE TRIGGER zone_incoming_gone AFTER DELETE ON zone_incoming
BEGIN INSERT INTO meta (name, value) VALUES ('incoming_version', 1) ON CONFLICT (name) DO UPDATE SET value = value + 1; END;
CREATE UNIQUE INDEX certificate_requests_by_owner ON certificate_requests (owner_kind, owner) WHERE dropped_at IS NULL;
CREATE INDEX certificate_requests_dropped ON certificate_requests (seq) WHERE dropped_at IS NOT NULL;
CREATE INDEX certificate_requests_by_zone ON certificate_requests (zone, owner_kind, seq);
CREATE INDEX challenges_by_token ON challenges (token);
CREATE INDEX challenge_records_by_challenge ON challenge_records (challenge);
CREATE INDEX certificates_by_request ON certificates (request, seq);
CREATE INDEX certificates_by_expiry ON certificates (not_after);
CREATE INDEX authority_issuers_by_name ON authority_issuers (name, seq);
CREATE INDEX authority_orders_by_expiry ON authority_orders (expires_at);
CREATE INDEX authority_orders_by_replaced ON authority_orders (replaces) WHERE replaces IS NOT NULL;
CREATE INDEX authority_authorizations_by_order ON authority_authorizations (order_seq);
CREATE INDEX authority_challenges_by_authorization ON authority_challenges (authorization_seq);
CREATE INDEX authority_certificates_by_expiry ON authority_certificates (not_after);
CREATE INDEX custom_hostnames_by_name ON custom_hostnames (hostname, state);
CREATE INDEX custom_hostnames_by_age ON custom_hostnames (zone, created_at, id);
CREATE INDEX custom_hostnames_by_proof_zone ON custom_hostnames (proof_zone) WHERE proof_zone IS NOT NULL;
CREATE INDEX custom_hostnames_by_reversed_name ON custom_hostnames (reversed_name);
CREATE INDEX issuance_events_by_account ON issuance_events (account, at_ms);
CREATE INDEX bucket_bindings_by_bucket ON bucket_bindings (bucket);
CREATE INDEX bucket_domains_by_bucket ON bucket_domains (bucket, domain);
CREATE INDEX bucket_domains_by_zone ON bucket_domains (zone, domain);
CREATE TRIGGER object_added AFTER INSERT ON objects BEGIN
  INSERT INTO bucket_usage (bucket, storage_class, objects, payload_size, metadata_size)
  VALUES (new.bucket, new.storage_class, 1, new.size, new.metadata_size)
  ON CONFLICT (bucket, storage_class) DO UPDATE SET
    objects = objects + 1,
    payload_size = payload_size + excluded.payload_size,
    metadata_size = metadata_size + excluded.metadata_size;
END;
CREATE TRIGGER object_removed AFTER DELETE ON objects BEGIN
  UPDATE bucket_usage SET
    objects = objects - 1,
    payload_size = payload_size - old.size,
    metadata_size = metadata_size - old.metadata_size
  WHERE bucket = old.bucket AND storage_class = old.storage_class;
  INSERT OR IGNORE INTO blob_garbage (blob) SELECT old.blob WHERE old.blob IS NOT NULL;
END;
CREATE INDEX jobs_due ON jobs (kind, run_at, seq) WHERE lease_owner IS NULL;
CREATE INDEX jobs_leased ON jobs (seq) WHERE lease_owner IS NOT NULL;
CREATE INDEX jobs_in_order ON jobs (run_at, seq);
CREATE INDEX jobs_failing ON jobs (run_at, seq) WHERE attempt > 0;
CREATE INDEX jobs_by_account ON jobs (kind, account, run_at, seq) WHERE lease_owner IS NULL;
CREATE INDEX edge_changes_by_subject ON edge_changes (kind, subject);
CREATE TRIGGER edge_changes_pruned AFTER INSERT ON edge_changes WHEN NEW.seq % 1000 = 0
BEGIN DELETE FROM edge_changes WHERE seq <= NEW.seq - 50000; END;
CREATE TRIGGER edge_hostname_added AFTER INSERT ON custom_hostnames
BEGIN INSERT INTO edge_changes (kind, subject) VALUES ('hostname', NEW.hostname); END;
CREATE TRIGGER edge_hostname_gone AFTER DELETE ON custom_hostnames
BEGIN INSERT INTO edge_changes (kind, subject) VALUES ('hostname', OLD.hostname); END;
CREATE TRIGGER edge_fallback_added AFTER INSERT ON fallback_origins
BEGIN INSERT INTO edge_changes (kind, subject) VALUES ('zone', NEW.zone); END;
CREATE TRIGGER edge_fallback_changed AFTER UPDATE ON fallback_origins
BEGIN INSERT INTO edge_changes (kind, subject) VALUES ('zone', NEW.zone); END;
CREATE TRIGGER edge_fallback_gone AFTER DELETE ON fallback_origins
BEGIN INSERT INTO edge_changes (kind, subject) VALUES ('zone', OLD.zone); END;
CREATE TRIGGER edge_hostname_changed AFTER UPDATE OF state, ssl, metadata, origin, origin_sni ON custom_hostnames
WHEN OLD.state IS NOT NEW.state OR OLD.ssl IS NOT NEW.ssl OR OLD.metadata IS NOT NEW.metadata
  OR OLD.origin IS NOT NEW.origin OR OLD.origin_sni IS NOT NEW.origin_sni
BEGIN INSERT INTO edge_changes (kind, subject) VALUES ('hostname', NEW.hostname); END;
CREATE TRIGGER edge_setting_added AFTER INSERT ON zone_settings
BEGIN INSERT INTO edge_changes (kind, subject) VALUES ('zone', NEW.zone); END;
CREATE TRIGGER edge_setting_changed AFTER UPDATE ON zone_settings
BEGIN INSERT INTO edge_changes (kind, subject) VALUES ('zone', NEW.zone); END;
CREATE TRIGGER edge_setting_gone AFTER DELETE ON zone_settings
BEGIN INSERT INTO edge_changes (kind, subject) VALUES ('zone', OLD.zone); END;
CREATE TRIGGER edge_bucket_domain_added AFTER INSERT ON bucket_domains
BEGIN INSERT INTO edge_changes (kind, subject) VALUES ('zone', NEW.zone); END;
CREATE TRIGGER edge_bucket_domain_changed AFTER UPDATE ON bucket_domains
BEGIN INSERT INTO edge_changes (kind, subject) VALUES ('zone', NEW.zone); END;
CREATE TRIGGER edge_bucket_domain_gone AFTER DELETE ON bucket_domains
BEGIN INSERT INTO edge_changes (kind, subject) VALUES ('zone', OLD.zone); END;
CREATE TRIGGER edge_certificate_added AFTER INSERT ON certificates
BEGIN
  INSERT INTO edge_changes (kind, subject)
  SELECT 'certificate', owner_kind || ':' || owner FROM certificate_requests WHERE seq = NEW.request ORDER BY seq;
END;
CREATE TRIGGER edge_certificate_gone AFTER DELETE ON certificates
BEGIN
  INSERT INTO edge_changes (kind, subject)
  SELECT 'certificate', owner_kind || ':' || owner FROM certificate_requests WHERE seq = OLD.request ORDER BY seq;
END;
CREATE TRIGGER edge_certificate_dropped AFTER UPDATE OF dropped_at ON certificate_requests
BEGIN INSERT INTO edge_changes (kind, subject) VALUES ('certificate', NEW.owner_kind || ':' || NEW.owner); END;
CREATE TRIGGER edge_origin_added AFTER INSERT ON record_rows WHEN NEW.proxied = 1
BEGIN
  DELETE FROM edge_changes WHERE kind = 'zone'
    AND subject = (SELECT CAST(seq AS TEXT) FROM zones WHERE record_set = NEW.record_set);
  INSERT INTO edge_changes (kind, subject) SELECT 'zone', seq FROM zones WHERE record_set = NEW.record_set ORDER BY seq;
END;
CREATE TRIGGER edge_origin_changed AFTER UPDATE ON record_rows WHEN NEW.proxied = 1 OR OLD.proxied = 1
BEGIN
  DELETE FROM edge_changes WHERE kind = 'zone'
    AND subject = (SELECT CAST(seq AS TEXT) FROM zones WHERE record_set = NEW.record_set);
  INSERT INTO edge_changes (kind, subject) SELECT 'zone', seq FROM zones WHERE record_set = NEW.record_set ORDER BY seq;
END;
CREATE TRIGGER edge_origin_gone AFTER DELETE ON record_rows WHEN OLD.proxied = 1
BEGIN
  DELETE FROM edge_changes WHERE kind = 'zone'
    AND subject = (SELECT CAST(seq AS TEXT) FROM zones WHERE record_set = OLD.record_set);
  INSERT INTO edge_changes (kind, subject) SELECT 'zone', seq FROM zones WHERE record_set = OLD.record_set ORDER BY seq;
END;
CREATE TRIGGER edge_records_replaced AFTER UPDATE OF record_set ON zones
BEGIN
  DELETE FROM edge_changes WHERE kind = 'zone' AND subject = CAST(NEW.seq AS TEXT);
  INSERT INTO edge_changes (kind, subject) VALUES ('zone', NEW.seq);
END;
CREATE TRIGGER zones_counted AFTER INSERT ON zones  BEGIN 
  INSERT INTO account_usage (account, kind, used) SELECT NEW.account, 'zones', 1 WHERE NEW.account IS NOT NULL
  ON CONFLICT (account, kind) DO UPDATE SET used = used + excluded.used;
END;
CREATE TRIGGER zones_uncounted AFTER DELETE ON zones  BEGIN 
  UPDATE account_usage SET used = used - 1 WHERE account = OLD.account AND kind = 'zones';
END;
CREATE TRIGGER zone_records_counted AFTER UPDATE OF record_count ON zones WHEN NEW.record_count <> OLD.record_count BEGIN
  
  INSERT INTO account_usage (account, kind, used) SELECT NEW.account, 'records', NEW.record_count - OLD.record_count WHERE NEW.account IS NOT NULL
  ON CONFLICT (account, kind) DO UPDATE SET used = used + excluded.used;
END;
CREATE TRIGGER zone_records_added AFTER INSERT ON zones WHEN NEW.record_count <> 0 BEGIN
  
  INSERT INTO account_usage (account, kind, used) SELECT NEW.account, 'records', NEW.record_count WHERE NEW.account IS NOT NULL
  ON CONFLICT (account, kind) DO UPDATE SET used = used + excluded.used;
END;
CREATE TRIGGER zone_content_uncounted BEFORE DELETE ON zones BEGIN
  
  UPDATE account_usage SET used = used - OLD.record_count WHERE account = OLD.account AND kind = 'records';
  
  UPDATE account_usage SET used = used - (SELECT count(*) FROM custom_hostnames WHERE zone = OLD.seq) WHERE account = OLD.account AND kind = 'hostnames';
END;
CREATE TRIGGER custom_hostnames_counted AFTER INSERT ON custom_hostnames BEGIN 
  INSERT INTO account_usage (account, kind, used) SELECT (SELECT account FROM zones WHERE seq = NEW.zone), 'hostnames', 1 WHERE (SELECT account FROM zones WHERE seq = NEW.zone) IS NOT NULL
  ON CONFLICT (account, kind) DO UPDATE SET used = used + excluded.used;
END;
CREATE TRIGGER custom_hostnames_uncounted AFTER DELETE ON custom_hostnames BEGIN 
  UPDATE account_usage SET used = used - 1 WHERE account = (SELECT account FROM zones WHERE seq = OLD.zone) AND kind = 'hostnames';
END;
CREATE TRIGGER api_keys_counted AFTER INSERT ON api_keys WHEN NEW.account IS NOT NULL BEGIN 
  INSERT INTO account_usage (account, kind, used) SELECT NEW.account, 'tokens', 1 WHERE NEW.account IS NOT NULL
  ON CONFLICT (account, kind) DO UPDATE SET used = used + excluded.used;
END;
CREATE TRIGGER api_keys_uncounted AFTER DELETE ON api_keys WHEN OLD.account IS NOT NULL BEGIN 
  UPDATE account_usage SET used = used - 1 WHERE account = OLD.account AND kind = 'tokens';
END;
CREATE TRIGGER memberships_counted AFTER INSERT ON memberships  BEGIN 
  INSERT INTO account_usage (account, kind, used) SELECT NEW.account, 'members', 1 WHERE NEW.account IS NOT NULL
  ON CONFLICT (account, kind) DO UPDATE SET used = used + excluded.used;
END;
CREATE TRIGGER memberships_uncounted AFTER DELETE ON memberships  BEGIN 
  UPDATE account_usage SET used = used - 1 WHERE account = OLD.account AND kind = 'members';
END;
CREATE TRIGGER transfer_acls_counted AFTER INSERT ON transfer_acls  BEGIN 
  INSERT INTO account_usage (account, kind, used) SELECT NEW.account, 'lists', 1 WHERE NEW.account IS NOT NULL
  ON CONFLICT (account, kind) DO UPDATE SET used = used + excluded.used;
END;
CREATE TRIGGER transfer_acls_uncounted AFTER DELETE ON transfer_acls  BEGIN 
  UPDATE account_usage SET used = used - 1 WHERE account = OLD.account AND kind = 'lists';
END;
CREATE TRIGGER transfer_peers_counted AFTER INSERT ON transfer_peers  BEGIN 
  INSERT INTO account_usage (account, kind, used) SELECT NEW.account, 'lists', 1 WHERE NEW.account IS NOT NULL
  ON CONFLICT (account, kind) DO UPDATE SET used = used + excluded.used;
END;
CREATE TRIGGER transfer_peers_uncounted AFTER DELETE ON transfer_peers  BEGIN 
  UPDATE account_usage SET used = used - 1 WHERE account = OLD.account AND kind = 'lists';
END;
CREATE TRIGGER tsig_keys_counted AFTER INSERT ON tsig_keys  BEGIN 
  INSERT INTO account_usage (account, kind, used) SELECT NEW.account, 'lists', 1 WHERE NEW.account IS NOT NULL
  ON CONFLICT (account, kind) DO UPDATE SET used = used + excluded.used;
END;
CREATE TRIGGER tsig_keys_uncounted AFTER DELETE ON tsig_keys  BEGIN 
  UPDATE account_usage SET used = used - 1 WHERE account = OLD.account AND kind = 'lists';
END;
CREATE TRIGGER catalogs_counted AFTER INSERT ON catalogs  BEGIN 
  INSERT INTO account_usage (account, kind, used) SELECT NEW.account, 'lists', 1 WHERE NEW.account IS NOT NULL
  ON CONFLICT (account, kind) DO UPDATE SET used = used + excluded.used;
END;
CREATE TRIGGER catalogs_uncounted AFTER DELETE ON catalogs  BEGIN 
  UPDATE account_usage SET used = used - 1 WHERE account = OLD.account AND kind = 'lists';
END;
CREATE TRIGGER consumed_catalogs_counted AFTER INSERT ON consumed_catalogs  BEGIN 
  INSERT INTO account_usage (account, kind, used) SELECT NEW.account, 'lists', 1 WHERE NEW.account IS NOT NULL
  ON CONFLICT (account, kind) DO UPDATE SET used = used + excluded.used;
END;
CREATE TRIGGER consumed_catalogs_uncounted AFTER DELETE ON consumed_catalogs  BEGIN 
  UPDATE account_usage SET used = used - 1 WHERE account = OLD.account AND kind = 'lists';
END;
CREATE TRIGGER buckets_counted AFTER INSERT ON buckets  BEGIN 
  INSERT INTO account_usage (account, kind, used) SELECT NEW.account, 'buckets', 1 WHERE NEW.account IS NOT NULL
  ON CONFLICT (account, kind) DO UPDATE SET used = used + excluded.used;
END;
CREATE TRIGGER buckets_uncounted AFTER DELETE ON buckets  BEGIN 
  UPDATE account_usage SET used = used - 1 WHERE account = OLD.account AND kind = 'buckets';
END;
CREATE TRIGGER bucket_usage_counted AFTER INSERT ON bucket_usage BEGIN
  
  INSERT INTO account_usage (account, kind, used) SELECT (SELECT account FROM buckets WHERE seq = NEW.bucket), 'objects', NEW.objects WHERE (SELECT account FROM buckets WHERE seq = NEW.bucket) IS NOT NULL
  ON CONFLICT (account, kind) DO UPDATE SET used = used + excluded.used;
  
  INSERT INTO account_usage (account, kind, used) SELECT (SELECT account FROM buckets WHERE seq = NEW.bucket), 'octets', NEW.payload_size + NEW.metadata_size WHERE (SELECT account FROM buckets WHERE seq = NEW.bucket) IS NOT NULL
  ON CONFLICT (account, kind) DO UPDATE SET used = used + excluded.used;
END;
CREATE TRIGGER bucket_usage_recounted AFTER UPDATE ON bucket_usage BEGIN
  
  INSERT INTO account_usage (account, kind, used) SELECT (SELECT account FROM buckets WHERE seq = NEW.bucket), 'objects', NEW.objects - OLD.objects WHERE (SELECT account FROM buckets WHERE seq = NEW.bucket) IS NOT NULL
  ON CONFLICT (account, kind) DO UPDATE SET used = used + excluded.used;
  
  INSERT INTO account_usage (account, kind, used) SELECT (SELECT account FROM buckets WHERE seq = NEW.bucket), 'octets', NEW.payload_size + NEW.metadata_size - OLD.payload_size - OLD.metadata_size WHERE (SELECT account FROM buckets WHERE seq = NEW.bucket) IS NOT NULL
  ON CONFLICT (account, kind) DO UPDATE SET used = used + excluded.used;
END;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('audit',20);
INSERT INTO "sqlite_sequence" VALUES('record_sets',3);
INSERT INTO "sqlite_sequence" VALUES('zones',2);
INSERT INTO "sqlite_sequence" VALUES('changes',7);
INSERT INTO "sqlite_sequence" VALUES('zone_edits',7);
INSERT INTO "sqlite_sequence" VALUES('edge_changes',2);
INSERT INTO "sqlite_sequence" VALUES('jobs',6);
INSERT INTO "sqlite_sequence" VALUES('certificate_requests',1);
