/** Load balancing: monitors, pools and load balancers, the health of origins, and what became of it. */
import type { Steps } from './migration.js';

/** Triggers that count the rows of a table with a column `account`, as those of version 1.0 do. */
const counted = (table: string): string => `
CREATE TRIGGER ${table}_counted AFTER INSERT ON ${table} BEGIN
  INSERT INTO account_usage (account, kind, used) VALUES (NEW.account, 'balancing', 1)
  ON CONFLICT (account, kind) DO UPDATE SET used = used + excluded.used;
END;
CREATE TRIGGER ${table}_uncounted AFTER DELETE ON ${table} BEGIN
  UPDATE account_usage SET used = used - 1 WHERE account = OLD.account AND kind = 'balancing';
END;
`;

export default {
  sql: `
-- settings, here and below: JSON, the members that the owner wrote, as clients see them. Other columns repeat what statements need.
CREATE TABLE monitors (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
  account INTEGER NOT NULL REFERENCES accounts (seq) ON DELETE CASCADE,
  settings TEXT NOT NULL CHECK (json_valid(settings)),
  -- Seconds between two probes.
  interval INTEGER NOT NULL CHECK (interval > 0),
  created_at INTEGER NOT NULL,
  modified_at INTEGER NOT NULL
) STRICT;
CREATE INDEX monitors_account ON monitors (account);

CREATE TABLE monitor_groups (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
  account INTEGER NOT NULL REFERENCES accounts (seq) ON DELETE CASCADE,
  settings TEXT NOT NULL CHECK (json_valid(settings)),
  created_at INTEGER NOT NULL,
  modified_at INTEGER NOT NULL
) STRICT;
CREATE INDEX monitor_groups_account ON monitor_groups (account);

-- Which monitors are in a group, whatever they count there.
CREATE TABLE monitor_group_members (
  monitor_group INTEGER NOT NULL REFERENCES monitor_groups (seq) ON DELETE CASCADE,
  monitor INTEGER NOT NULL REFERENCES monitors (seq),
  PRIMARY KEY (monitor_group, monitor)
) STRICT, WITHOUT ROWID;
CREATE INDEX monitor_group_members_monitor ON monitor_group_members (monitor);

-- name_key: the name in lower case. targets: enabled origins; 0 while the pool is disabled.
CREATE TABLE pools (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
  account INTEGER NOT NULL REFERENCES accounts (seq) ON DELETE CASCADE,
  name TEXT NOT NULL,
  name_key TEXT NOT NULL,
  settings TEXT NOT NULL CHECK (json_valid(settings)),
  monitor INTEGER REFERENCES monitors (seq),
  monitor_group INTEGER REFERENCES monitor_groups (seq),
  targets INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  modified_at INTEGER NOT NULL,
  UNIQUE (account, name_key)
) STRICT;
CREATE INDEX pools_monitor ON pools (monitor) WHERE monitor IS NOT NULL;
CREATE INDEX pools_monitor_group ON pools (monitor_group) WHERE monitor_group IS NOT NULL;

-- owner_key: relative to the apex, as of records. name: lower-case ASCII, without the final dot. account: that of the zone.
CREATE TABLE load_balancers (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
  zone INTEGER NOT NULL REFERENCES zones (seq) ON DELETE CASCADE,
  account INTEGER NOT NULL,
  owner_key BLOB NOT NULL,
  name TEXT NOT NULL,
  enabled INTEGER NOT NULL CHECK (enabled IN (0, 1)),
  proxied INTEGER NOT NULL CHECK (proxied IN (0, 1)),
  settings TEXT NOT NULL CHECK (json_valid(settings)),
  created_at INTEGER NOT NULL,
  modified_at INTEGER NOT NULL,
  UNIQUE (zone, owner_key)
) STRICT;
CREATE INDEX load_balancers_account ON load_balancers (account);
CREATE INDEX load_balancers_proxied ON load_balancers (proxied) WHERE proxied = 1;

-- Every pool that a load balancer refers to anywhere.
CREATE TABLE load_balancer_pools (
  load_balancer INTEGER NOT NULL REFERENCES load_balancers (seq) ON DELETE CASCADE,
  pool INTEGER NOT NULL REFERENCES pools (seq),
  PRIMARY KEY (load_balancer, pool)
) STRICT, WITHOUT ROWID;
CREATE INDEX load_balancer_pools_pool ON load_balancer_pools (pool);

-- What one node found of an origin by one monitor; node '': what the nodes of a region agree on, region '' as well: what all agree on.
-- origin: its name in the pool. changed_at: since when; confirmed_at: when it was last known to be so. Microseconds since 1970.
CREATE TABLE origin_states (
  pool INTEGER NOT NULL REFERENCES pools (seq) ON DELETE CASCADE,
  origin TEXT NOT NULL,
  monitor INTEGER NOT NULL REFERENCES monitors (seq) ON DELETE CASCADE,
  region TEXT NOT NULL,
  node TEXT NOT NULL,
  healthy INTEGER NOT NULL CHECK (healthy IN (0, 1)),
  failure_reason TEXT NOT NULL,
  response_code INTEGER,
  -- Microseconds.
  rtt INTEGER,
  changed_at INTEGER NOT NULL,
  confirmed_at INTEGER NOT NULL,
  PRIMARY KEY (pool, origin, monitor, region, node)
) STRICT, WITHOUT ROWID;
CREATE INDEX origin_states_monitor ON origin_states (monitor);

-- Transitions of pools and origins, also of those that are gone. pool: identifier. origins: JSON list of those that changed.
CREATE TABLE health_events (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  at_us INTEGER NOT NULL,
  account INTEGER NOT NULL REFERENCES accounts (seq) ON DELETE CASCADE,
  pool BLOB NOT NULL CHECK (length(pool) = 16),
  pool_name TEXT NOT NULL,
  pool_healthy INTEGER NOT NULL CHECK (pool_healthy IN (0, 1)),
  pool_changed INTEGER NOT NULL CHECK (pool_changed IN (0, 1)),
  minimum_origins INTEGER NOT NULL,
  origins TEXT NOT NULL CHECK (json_valid(origins))
) STRICT;
CREATE INDEX health_events_account ON health_events (account, seq);
CREATE INDEX health_events_pool ON health_events (pool, seq);

${['monitors', 'monitor_groups', 'pools', 'load_balancers'].map(counted).join('')}`,
} satisfies Steps;
