import fs from 'node:fs';const dir='/work/side/.engine-scratch/';
for(const mode of ['append','prealloc','overwrite','dsync']){const f=dir+'wal';fs.rmSync(f,{force:true});
 const fd=fs.openSync(f,mode==='dsync'?fs.constants.O_RDWR|fs.constants.O_CREAT|fs.constants.O_DSYNC:'w+');
 const blk=Buffer.alloc(40960,1);let N=400;
 if(mode!=='append'){const z=Buffer.alloc(1<<20,mode==='overwrite'?2:0);for(let i=0;i<20;i++)fs.writeSync(fd,z);fs.fsyncSync(fd)}
 const a=[];for(let i=0;i<N;i++){const t=process.hrtime.bigint();fs.writeSync(fd,blk,0,40960,i*40960);if(mode!=='dsync')fs.fdatasyncSync(fd);a.push(Number(process.hrtime.bigint()-t)/1e3)}
 a.sort((x,y)=>x-y);console.log(mode,'p50',a[N/2]|0,'p90',a[N*.9]|0,'p99',a[N*.99]|0);fs.closeSync(fd)}
