import { pathToFileURL } from 'node:url'

/** All that the embedded Cassandra is told, in one place; the same for the jars and for Docker. */

/** What SimpleSnitch calls the only data centre. */
export const LOCAL_DATA_CENTER = 'datacenter1'

/**
 * Returns cassandra.yaml: one node on this machine, sized by its heap. Ports come on the command line.
 * The guardrails (design, section 5) bind every role that is no superuser; the tombstone and read
 * thresholds bind all.
 */
export function cassandraYaml({ heapMb, address }: { heapMb: number; address: string }): string {
  return `cluster_name: thousandfold
num_tokens: 1
initial_token: 0
partitioner: org.apache.cassandra.dht.Murmur3Partitioner
endpoint_snitch: SimpleSnitch
dynamic_snitch: false
seed_provider:
  - class_name: org.apache.cassandra.locator.SimpleSeedProvider
    parameters: [{ seeds: "127.0.0.1" }]
listen_address: 127.0.0.1
rpc_address: ${address}
broadcast_rpc_address: 127.0.0.1
hinted_handoff_enabled: false
storage_compatibility_mode: NONE

# Who may do what. Short caches: a right that is granted holds within half a second.
authenticator: PasswordAuthenticator
authorizer: CassandraAuthorizer
role_manager: CassandraRoleManager
roles_validity: 500ms
permissions_validity: 500ms
credentials_validity: 500ms

# An acknowledged write is in the mapped commit log, which a killed process leaves behind; a power cut
# loses at most this period.
commitlog_sync: periodic
commitlog_sync_period: 200ms
commitlog_total_space: 256MiB
# A node that can no longer write must end, and not linger without a port.
disk_failure_policy: die
commit_failure_policy: die

memtable:
  configurations:
    skiplist: { class_name: SkipListMemtable }
    trie: { class_name: TrieMemtable }
    default: { inherits: trie }
memtable_allocation_type: offheap_objects
memtable_heap_space: ${Math.floor(heapMb / 4)}MiB
memtable_offheap_space: ${Math.floor(heapMb / 4)}MiB
sstable: { selected_format: bti }
default_compaction:
  class_name: UnifiedCompactionStrategy
  parameters: { scaling_parameters: T4, max_sstables_to_compact: 64, target_sstable_size: 1GiB }
# Segments are read whole and are not compressed: mapped, they are copied once less.
disk_access_mode: mmap
concurrent_reads: 16
concurrent_writes: 16
concurrent_counter_writes: 8
concurrent_compactors: 1
auto_snapshot: false

# Guardrails: ways to ask, and to define, that do not scale.
allow_filtering_enabled: false
group_by_enabled: false
secondary_indexes_enabled: false
sasi_indexes_enabled: false
materialized_views_enabled: false
user_defined_functions_enabled: false
compact_tables_enabled: false
simplestrategy_enabled: false
drop_truncate_table_enabled: false
drop_keyspace_enabled: false
read_before_write_list_operations_enabled: false
zero_ttl_on_twcs_enabled: false

# Guardrails: sizes.
page_size_fail_threshold: 5000
partition_keys_in_select_fail_threshold: 2
in_select_cartesian_product_fail_threshold: 100
batch_size_warn_threshold: 5KiB
batch_size_fail_threshold: 50KiB
unlogged_batch_across_partitions_warn_threshold: 10
column_value_size_warn_threshold: 512KiB
partition_size_warn_threshold: 100MiB
partition_tombstones_warn_threshold: 1000
tombstone_warn_threshold: 100
tombstone_failure_threshold: 10000
read_thresholds_enabled: true
coordinator_read_size_warn_threshold: 8MiB
coordinator_read_size_fail_threshold: 32MiB
local_read_size_warn_threshold: 8MiB
local_read_size_fail_threshold: 32MiB
`
}

/** Everything goes to standard output, which is a file; a line begins with its level. */
export const LOGBACK_XML = `<configuration>
  <appender name="STDOUT" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%-5level %d{ISO8601} %logger{0} - %msg%n</pattern></encoder>
  </appender>
  <root level="INFO"><appender-ref ref="STDOUT"/></root>
</configuration>
`

/** What a node that is alone need not wait for; and its passwords are random, so hashing may be quick. */
export const SINGLE_NODE_OPTIONS = [
  '-Dcassandra.skip_wait_for_gossip_to_settle=0',
  '-Dcassandra.superuser_setup_delay_ms=0',
  '-Dcassandra.shutdown_announce_in_ms=0',
  '-Dcassandra.load_ring_state=false',
  '-Dcassandra.size_recorder_interval=0',
  '-Dcassandra.auth_bcrypt_gensalt_log2_rounds=4',
]

/** The parts of Java 17 that Cassandra 5.0 reaches into, by module. */
const EXPORTS: Readonly<Record<string, readonly string[]>> = {
  'java.base': ['jdk.internal.misc', 'java.lang.ref', 'sun.nio.ch'],
  'java.management.rmi': ['com.sun.jmx.remote.internal.rmi'],
  'java.management': ['com.sun.jmx.remote.security'],
  'java.rmi': ['sun.rmi.registry', 'sun.rmi.server'],
  'java.sql': ['java.sql'],
  'jdk.unsupported': ['sun.misc'],
}
const OPENS: Readonly<Record<string, readonly string[]>> = {
  'java.base': [
    ...['java.io', 'java.lang', 'java.lang.module', 'java.lang.reflect', 'java.nio', 'java.util'],
    ...['java.util.concurrent', 'java.util.concurrent.atomic', 'jdk.internal.loader'],
    ...['jdk.internal.math', 'jdk.internal.module', 'jdk.internal.ref', 'jdk.internal.reflect'],
    ...['jdk.internal.util.jar', 'sun.nio.ch'],
  ],
  'jdk.management': ['com.sun.management.internal'],
}

export interface NodePaths {
  readonly conf: string
  readonly storage: string
  readonly log: string
  readonly tmp: string
  /** The folder of the jars. */
  readonly lib: string
}

export interface NodePorts {
  readonly native: number
  readonly storage: number
  readonly jmx: number
}

/** The argument by which a running node is known to be that of a storage folder. */
export function storageArgument(storage: string): string {
  return `-Dcassandra.storagedir=${storage}`
}

export const NATIVE_PORT_ARGUMENT = '-Dcassandra.native_transport_port='

/** Returns the arguments of `java` for one node. `jamm` is the path of the jar that measures objects. */
export function javaArguments(
  { conf, storage, log, tmp, lib }: NodePaths,
  { ports, heapMb, jamm }: { ports: NodePorts; heapMb: number; jamm: string },
): string[] {
  return [
    ...[`-Xms${heapMb}m`, `-Xmx${heapMb}m`, '-Xss512k'],
    ...['-XX:+UseG1GC', '-XX:MaxGCPauseMillis=300'],
    ...['-XX:+ExitOnOutOfMemoryError', '-XX:+PerfDisableSharedMem', `-XX:ErrorFile=${log}/jvm.log`],
    '-Djdk.attach.allowAttachSelf=true',
    '-Djava.net.preferIPv4Stack=true',
    ...[`-Djava.io.tmpdir=${tmp}`, `-Djna.tmpdir=${tmp}`],
    '-Dchronicle.analytics.disable=true',
    '-Dio.netty.tryReflectionSetAccessible=true',
    '-Dio.netty.allocator.maxOrder=11',
    ...moduleArguments('--add-exports', EXPORTS),
    ...moduleArguments('--add-opens', OPENS),
    `-javaagent:${jamm}`,
    `-Dlogback.configurationFile=${conf}/logback.xml`,
    `-Dcassandra.config=${pathToFileURL(conf).href}/cassandra.yaml`,
    `-Dcassandra.triggers_dir=${conf}/triggers`,
    `-Dcassandra.logdir=${log}`,
    storageArgument(storage),
    `${NATIVE_PORT_ARGUMENT}${ports.native}`,
    `-Dcassandra.storage_port=${ports.storage}`,
    `-Dcassandra.jmx.local.port=${ports.jmx}`, // "local": listens on loopback only
    '-Dcassandra-foreground=yes', // else it closes its standard output
    ...SINGLE_NODE_OPTIONS,
    ...['-cp', `${conf}:${lib}/*`, 'org.apache.cassandra.service.CassandraDaemon'],
  ]
}

function moduleArguments(option: string, modules: Readonly<Record<string, readonly string[]>>) {
  return Object.entries(modules).flatMap(([module, packages]) =>
    packages.map((name) => `${option}=${module}/${name}=ALL-UNNAMED`),
  )
}
