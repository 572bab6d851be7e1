-- A database of the schema 0001 with a job that is done, one that runs and one that waits.
CREATE TABLE attempts (
    job_id VARCHAR NOT NULL,
    number INTEGER NOT NULL,
    worker VARCHAR NOT NULL,
    host VARCHAR NOT NULL,
    marker VARCHAR NOT NULL,
    pid INTEGER,
    pid_started BIGINT,
    claimed_at FLOAT NOT NULL,
    began_at FLOAT,
    seen_at FLOAT NOT NULL,
    ended_at FLOAT,
    ending VARCHAR,
    swept BOOLEAN NOT NULL,
    messages INTEGER NOT NULL,
    configuration TEXT,
    CONSTRAINT pk_attempts PRIMARY KEY (job_id, number),
    CONSTRAINT fk_attempts_job_id FOREIGN KEY(job_id) REFERENCES jobs (id)
);
CREATE TABLE autotune_version (
    version_num VARCHAR(32) NOT NULL,
    CONSTRAINT autotune_version_pkc PRIMARY KEY (version_num)
);
CREATE TABLE events (
    job_id VARCHAR NOT NULL,
    number INTEGER NOT NULL,
    body TEXT NOT NULL,
    at FLOAT NOT NULL,
    CONSTRAINT pk_events PRIMARY KEY (job_id, number),
    CONSTRAINT fk_events_job_id FOREIGN KEY(job_id) REFERENCES jobs (id)
);
CREATE TABLE idempotency (
    owner VARCHAR NOT NULL,
    "key" VARCHAR NOT NULL,
    fingerprint VARCHAR NOT NULL,
    job_id VARCHAR NOT NULL,
    created_at FLOAT NOT NULL,
    CONSTRAINT pk_idempotency PRIMARY KEY (owner, "key")
);
CREATE TABLE jobs (
    seq INTEGER NOT NULL,
    id VARCHAR NOT NULL,
    owner VARCHAR NOT NULL,
    workload VARCHAR NOT NULL,
    request TEXT NOT NULL,
    budget_seconds FLOAT NOT NULL,
    state VARCHAR NOT NULL,
    attempt INTEGER NOT NULL,
    devices VARCHAR,
    expires_at FLOAT,
    events INTEGER NOT NULL,
    trials INTEGER NOT NULL,
    one_device FLOAT,
    distributed FLOAT,
    created_at FLOAT NOT NULL,
    started_at FLOAT,
    ended_at FLOAT,
    verdict VARCHAR,
    summary TEXT,
    reason TEXT,
    study TEXT,
    recommendation TEXT,
    CONSTRAINT pk_jobs PRIMARY KEY (seq),
    CONSTRAINT uq_jobs_id UNIQUE (id)
);
CREATE TABLE keys (
    id VARCHAR NOT NULL,
    digest VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    scopes VARCHAR NOT NULL,
    created_at FLOAT NOT NULL,
    expires_at FLOAT,
    revoked_at FLOAT,
    CONSTRAINT pk_keys PRIMARY KEY (id),
    CONSTRAINT uq_keys_digest UNIQUE (digest)
);
CREATE TABLE leases (
    devices VARCHAR NOT NULL,
    job_id VARCHAR,
    attempt INTEGER,
    worker VARCHAR,
    expires_at FLOAT,
    CONSTRAINT pk_leases PRIMARY KEY (devices)
);
CREATE TABLE sessions (
    digest VARCHAR NOT NULL,
    key_id VARCHAR NOT NULL,
    expires_at FLOAT NOT NULL,
    CONSTRAINT pk_sessions PRIMARY KEY (digest),
    CONSTRAINT fk_sessions_key_id FOREIGN KEY(key_id) REFERENCES keys (id)
);
CREATE TABLE trials (
    job_id VARCHAR NOT NULL,
    number INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    record TEXT NOT NULL,
    at FLOAT NOT NULL,
    CONSTRAINT pk_trials PRIMARY KEY (job_id, number),
    CONSTRAINT fk_trials_job_id FOREIGN KEY(job_id) REFERENCES jobs (id)
);
CREATE INDEX ix_jobs_owner_jobs_seq ON jobs (owner, seq);
CREATE INDEX ix_jobs_state_jobs_seq ON jobs (state, seq);
CREATE INDEX ix_attempts_host_attempts_swept ON attempts (host, swept);
INSERT INTO "jobs" VALUES(1,'acd2d77b887edc7b2af3370b','c6f8e7b056d17ec2','digits','{"budget":60.0,"max_trials":null,"margin":0.03,"diagnose":true,"seed":0,"objective":"throughput","global_batch":null,"max_global_batch":null,"strategies":null,"workers":null,"allow_asynchronous":false,"workload":"digits","params":{},"space":"auto"}',60.0,'done',1,'bench',NULL,5,1,1000.0,NULL,1000000.0,1000000.0,1000000.0,'one device','Stay on one device: no distributed configuration can be faster.',NULL,'{}','{"schema_version":1,"autotune":"0.1.0","verdict":"one device","configuration":{"strategy":"one_device","workers":1,"replicas_per_worker":1,"servers":0,"per_replica_batch":128,"reduction":"default","shard_policy":"auto","steps_per_execution":1,"prefetch":"auto","num_parallel_calls":"auto","private_threads":0,"cache":"off","threads_per_process":0,"xla":false,"precision":"float32","arguments":[]},"global_batch":128,"examples_per_second":{"low":900.0,"value":1000.0,"high":1100.0},"objective":"throughput","value":null,"speedup":{"low":1.0,"value":1.0,"high":1.0},"one_device":{"strategy":"one_device","workers":1,"replicas_per_worker":1,"servers":0,"per_replica_batch":128,"reduction":"default","shard_policy":"auto","steps_per_execution":1,"prefetch":"auto","num_parallel_calls":"auto","private_threads":0,"cache":"off","threads_per_process":0,"xla":false,"precision":"float32","arguments":[]},"best_distributed":null,"distributed_speedup":null,"margin":0.03,"certificate":null,"automatic":null,"workload":{"model":{"name":"model_fn","module":"digits","root":"examples","pickled":"","source":null,"arguments":[]},"dataset":{"name":"dataset_fn","module":"digits","root":"examples","pickled":"","source":null,"arguments":[]},"callbacks":null},"facts":{"model_takes":[],"dataset_takes":[],"examples":10000,"example_bytes":400,"element":"(float32 (100,), int32 ())","weights":7000,"gradient_bytes":28000,"dense_gradient_bytes":0,"python_input":false,"automatic":false,"repeatable":true,"file_shards":0,"optimizer":"Adam","loss":"sparse_categorical_crossentropy"},"machine":{"hosts":[{"cpus":2,"memory":8589934592,"processor":"fake","gpus":[],"tpus":0,"name":""}],"python":"3.11.0","tensorflow":"2.21.0","keras":"3.15.0"},"seed":0,"grounds":{"conclusion":"proved slower","decision":{"verdict":"one device","challenger":null,"gain":null,"rounds":0,"certified":true,"rival":null,"most":0.0},"default":{"strategy":"one_device","workers":1,"replicas_per_worker":1,"servers":0,"per_replica_batch":32,"reduction":"default","shard_policy":"auto","steps_per_execution":1,"prefetch":"auto","num_parallel_calls":"auto","private_threads":0,"cache":"off","threads_per_process":0,"xla":false,"precision":"float32","arguments":[]},"explored":[],"unmatched_batch":null,"noise":{"sd":0.06,"degrees":4.0},"prior":{"sd":0.06,"degrees":4.0},"quantity":"throughput","adjective":"fast","value":"","repeats":0,"load":null},"over_default":{"low":1.1,"value":1.2,"high":1.3},"script":"print(''trained'')\n","launch":null,"unchanged_batch":null,"compared":[{"configuration":{"strategy":"one_device","workers":1,"replicas_per_worker":1,"servers":0,"per_replica_batch":128,"reduction":"default","shard_policy":"auto","steps_per_execution":1,"prefetch":"auto","num_parallel_calls":"auto","private_threads":0,"cache":"off","threads_per_process":0,"xla":false,"precision":"float32","arguments":[]},"examples_per_second":{"low":846.5494125757969,"value":999.9999999999998,"high":1181.2659546443938},"speedup":{"low":1.0,"value":1.0,"high":1.0},"outcome":"measured","runs":1,"final":false}],"diagnosis":null,"study":"tuning","seconds":60.0,"prepared_seconds":0.0,"interrupted":false,"space":null,"options":{"budget":180.0,"max_trials":null,"margin":0.03,"diagnose":true,"seed":0,"objective":"throughput","global_batch":null,"max_global_batch":null,"strategies":null,"workers":null,"allow_asynchronous":false},"summary":"Stay on one device: no distributed configuration can be faster.","reasons":["The global batch is 128 instead of 32, which changes convergence: usually the learning rate of Adam is multiplied by about 2, with a warm-up over the first epochs.","--global-batch 32 keeps it unchanged.","The recommended settings (per_replica_batch 128) are 1.20 times (1.10 to 1.30) as fast as the defaults on one device (all defaults).","Run-to-run variation was not measured; 6% is assumed."]}');
INSERT INTO "jobs" VALUES(2,'c13613eed8ab7c9724b1484b','c6f8e7b056d17ec2','digits','{"budget":60.0,"max_trials":null,"margin":0.03,"diagnose":true,"seed":0,"objective":"throughput","global_batch":null,"max_global_batch":null,"strategies":null,"workers":null,"allow_asynchronous":false,"workload":"digits","params":{},"space":"auto"}',60.0,'running',1,'bench',1000030.0,3,1,1000.0,NULL,1000000.0,1000000.0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "jobs" VALUES(3,'d8d10e53bc59ea3c16a4ebe3','c6f8e7b056d17ec2','digits','{"budget":60.0,"max_trials":null,"margin":0.03,"diagnose":true,"seed":0,"objective":"throughput","global_batch":null,"max_global_batch":null,"strategies":null,"workers":null,"allow_asynchronous":false,"workload":"digits","params":{},"space":"auto"}',60.0,'queued',0,NULL,NULL,1,0,NULL,NULL,1000000.0,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "keys" VALUES('c6f8e7b056d17ec2','2fc3636a0b76cf7ceb9f5b8d1ba29ddfd5a5332a60c07990aa217bbc726f523d','first','admin tunings:read tunings:write',1000000.0,NULL,NULL);
INSERT INTO "attempts" VALUES('acd2d77b887edc7b2af3370b',1,'w','h','f8cc816e9c04213fe0ec725b7eaaae41',NULL,NULL,1000000.0,1000000.0,1000000.0,1000000.0,'finished',TRUE,1,'{"strategy":"one_device","workers":1,"replicas_per_worker":1,"servers":0,"per_replica_batch":32,"reduction":"default","shard_policy":"auto","steps_per_execution":1,"prefetch":"auto","num_parallel_calls":"auto","private_threads":0,"cache":"off","threads_per_process":0,"xla":false,"precision":"float32","arguments":[]}');
INSERT INTO "attempts" VALUES('c13613eed8ab7c9724b1484b',1,'w','h','322f482e78598c1c48bceb3473444ad6',NULL,NULL,1000000.0,1000000.0,1000000.0,NULL,NULL,FALSE,1,'{"strategy":"one_device","workers":1,"replicas_per_worker":1,"servers":0,"per_replica_batch":32,"reduction":"default","shard_policy":"auto","steps_per_execution":1,"prefetch":"auto","num_parallel_calls":"auto","private_threads":0,"cache":"off","threads_per_process":0,"xla":false,"precision":"float32","arguments":[]}');
INSERT INTO "autotune_version" VALUES('0001');
INSERT INTO "events" VALUES('acd2d77b887edc7b2af3370b',1,'{"kind":"queued"}',1000000.0);
INSERT INTO "events" VALUES('c13613eed8ab7c9724b1484b',1,'{"kind":"queued"}',1000000.0);
INSERT INTO "events" VALUES('d8d10e53bc59ea3c16a4ebe3',1,'{"kind":"queued"}',1000000.0);
INSERT INTO "events" VALUES('acd2d77b887edc7b2af3370b',2,'{"kind":"claimed","attempt":1,"kept":0}',1000000.0);
INSERT INTO "events" VALUES('acd2d77b887edc7b2af3370b',3,'{"kind":"notice","text":"hello"}',1000000.0);
INSERT INTO "events" VALUES('acd2d77b887edc7b2af3370b',4,'{"kind":"trial_ended","trial":{"number":0,"stage":"one device","configuration":{"strategy":"one_device","workers":1,"replicas_per_worker":1,"servers":0,"per_replica_batch":128,"reduction":"default","shard_policy":"auto","steps_per_execution":1,"prefetch":"auto","num_parallel_calls":"auto","private_threads":0,"cache":"off","threads_per_process":0,"xla":false,"precision":"float32","arguments":[]},"outcome":"measured","reason":{"kind":"message","text":"throughput measured"},"round":null,"examples_per_second":1000.0,"sustained":null,"error":null,"windows":[],"steady_from":null,"lost_updates":null,"start_seconds":null,"first_step_seconds":null,"wall_seconds":3.0,"peak_memory":0,"work_seconds":[],"detail":""},"elapsed":3.0}',1000000.0);
INSERT INTO "events" VALUES('acd2d77b887edc7b2af3370b',5,'{"kind":"ended","state":"done","summary":"Stay on one device: no distributed configuration can be faster.","reason":null}',1000000.0);
INSERT INTO "events" VALUES('c13613eed8ab7c9724b1484b',2,'{"kind":"claimed","attempt":1,"kept":0}',1000000.0);
INSERT INTO "events" VALUES('c13613eed8ab7c9724b1484b',3,'{"kind":"trial_ended","trial":{"number":0,"stage":"one device","configuration":{"strategy":"one_device","workers":1,"replicas_per_worker":1,"servers":0,"per_replica_batch":128,"reduction":"default","shard_policy":"auto","steps_per_execution":1,"prefetch":"auto","num_parallel_calls":"auto","private_threads":0,"cache":"off","threads_per_process":0,"xla":false,"precision":"float32","arguments":[]},"outcome":"measured","reason":{"kind":"message","text":"throughput measured"},"round":null,"examples_per_second":1000.0,"sustained":null,"error":null,"windows":[],"steady_from":null,"lost_updates":null,"start_seconds":null,"first_step_seconds":null,"wall_seconds":3.0,"peak_memory":0,"work_seconds":[],"detail":""},"elapsed":3.0}',1000000.0);
INSERT INTO "idempotency" VALUES('c6f8e7b056d17ec2','k0','1a803ca22ae04019a51fca7ca8488975da5e92d0c8bb31795a9e500831b6de8f','acd2d77b887edc7b2af3370b',1000000.0);
INSERT INTO "idempotency" VALUES('c6f8e7b056d17ec2','k1','1a803ca22ae04019a51fca7ca8488975da5e92d0c8bb31795a9e500831b6de8f','c13613eed8ab7c9724b1484b',1000000.0);
INSERT INTO "idempotency" VALUES('c6f8e7b056d17ec2','k2','1a803ca22ae04019a51fca7ca8488975da5e92d0c8bb31795a9e500831b6de8f','d8d10e53bc59ea3c16a4ebe3',1000000.0);
INSERT INTO "leases" VALUES('bench','c13613eed8ab7c9724b1484b',1,'w',1000030.0);
INSERT INTO "trials" VALUES('acd2d77b887edc7b2af3370b',0,1,'{"number":0,"stage":"one device","configuration":{"strategy":"one_device","workers":1,"replicas_per_worker":1,"servers":0,"per_replica_batch":128,"reduction":"default","shard_policy":"auto","steps_per_execution":1,"prefetch":"auto","num_parallel_calls":"auto","private_threads":0,"cache":"off","threads_per_process":0,"xla":false,"precision":"float32","arguments":[]},"outcome":"measured","reason":{"kind":"message","text":"throughput measured"},"round":null,"examples_per_second":1000.0,"sustained":null,"error":null,"windows":[[4,0.1]],"steady_from":null,"lost_updates":null,"start_seconds":null,"first_step_seconds":null,"wall_seconds":3.0,"peak_memory":0,"work_seconds":[],"detail":"printed"}',1000000.0);
INSERT INTO "trials" VALUES('c13613eed8ab7c9724b1484b',0,1,'{"number":0,"stage":"one device","configuration":{"strategy":"one_device","workers":1,"replicas_per_worker":1,"servers":0,"per_replica_batch":128,"reduction":"default","shard_policy":"auto","steps_per_execution":1,"prefetch":"auto","num_parallel_calls":"auto","private_threads":0,"cache":"off","threads_per_process":0,"xla":false,"precision":"float32","arguments":[]},"outcome":"measured","reason":{"kind":"message","text":"throughput measured"},"round":null,"examples_per_second":1000.0,"sustained":null,"error":null,"windows":[[4,0.1]],"steady_from":null,"lost_updates":null,"start_seconds":null,"first_step_seconds":null,"wall_seconds":3.0,"peak_memory":0,"work_seconds":[],"detail":"printed"}',1000000.0);
